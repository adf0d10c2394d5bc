"""How does a Spark cluster run the SQL of a stage?

The same text that the local engine runs, over temporary views made of Arrow tables. ANSI mode is on, as it is by
default since Spark 4: an overflow is an error there and not another number.

Not here: maps on a cluster, reading and publishing tables on it; this is the half that proves the SQL.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cobnut.errors import MachineError
from cobnut.records.columns import pa_schema
from cobnut.records.steps import Sql

if TYPE_CHECKING:
    import pyarrow as pa

THREADS = 2


class MissingExtra(MachineError):
    """What Spark needs is not installed."""


def spark_session(threads: int = THREADS) -> Any:
    """A `pyspark.sql.SparkSession` inside this process; a `MissingExtra` says what to install.

    The driver is reached by its loopback address alone, and its Python workers are this interpreter.
    """
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise MissingExtra("Spark is not installed", remedy="pip install 'cobnut[spark]'") from error
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.speculation": "false",
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master(f"local[{threads}]").appName("cobnut")
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except (PySparkException, OSError, RuntimeError) as error:
        raise MissingExtra(
            f"Spark does not start ({str(error).splitlines()[0][:200]})", remedy="install Java 17 or newer"
        ) from error


def run_sql(session: Any, step: Sql, inputs: Mapping[str, pa.Table]) -> pa.Table:
    """The rows that one step makes of its inputs, with exactly the step's columns."""
    return run_text(session, step.text, inputs).select([c.name for c in step.columns]).cast(pa_schema(step.columns))


def run_text(session: Any, text: str, inputs: Mapping[str, pa.Table]) -> pa.Table:
    """The rows of one SQL text over Arrow tables by name, with the engine's own column types."""
    for name, rows in inputs.items():
        session.createDataFrame(rows).createOrReplaceTempView(name)
    try:
        return session.sql(text).toArrow()
    finally:
        for name in inputs:
            session.catalog.dropTempView(name)
