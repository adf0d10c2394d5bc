"""What does somebody read who asks for Spark without having it?"""

import subprocess
import sys

WITHOUT = """
import sys
sys.modules["pyspark"] = sys.modules["pyspark.errors"] = sys.modules["pyspark.sql"] = None  # as if not installed
from cobnut.engines.spark import MissingExtra, spark_session
try:
    spark_session()
except MissingExtra as error:
    print(error.exit_code, error.line())
"""


def test_the_extra_is_named():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True)
    assert done.stdout == "4 Spark is not installed; pip install 'cobnut[spark]'\n"


def test_importing_the_module_loads_neither_spark_nor_arrow():
    code = "import sys, cobnut.engines.spark; print([m for m in ('pyspark', 'pyarrow') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
