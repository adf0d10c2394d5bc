"""How do Hadoop's containers and values lie on disk?"""

from cobnut.interop.hadoop.data import DataInput, DataOutput
from cobnut.interop.hadoop.errors import (
    CutError,
    FormatError,
    UnknownClassError,
    VersionMismatchError,
    VersionMismatchException,
)

__all__ = [
    "CutError", "DataInput", "DataOutput", "FormatError", "UnknownClassError", "VersionMismatchError",
    "VersionMismatchException",
]  # fmt: skip
