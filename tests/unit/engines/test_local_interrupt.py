"""Does Ctrl-C that strikes while the engine calls a function of ours end the command as Ctrl-C does?"""

import pytest

from cobnut.engines.session import Session


def test_ctrl_c_within_a_function_that_the_engine_calls_is_ctrl_c() -> None:
    def struck(text: str) -> str:
        raise KeyboardInterrupt

    session = Session(256, 1)
    session.connection.create_function("struck", struck, ["VARCHAR"], "VARCHAR")
    with pytest.raises(KeyboardInterrupt):
        list(session.query("SELECT struck('a')", "the test"))
    session.close()
