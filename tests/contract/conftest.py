"""One Spark session for all contract tests: it takes seconds to start."""

import pytest


@pytest.fixture(scope="session")
def spark():
    from cobnut.engines.spark import spark_session

    session = spark_session()
    yield session
    session.stop()
