"""How do Hadoop's containers and values lie on disk?"""

from cobnut.interop.hadoop.data import DataInput, DataOutput
from cobnut.interop.hadoop.errors import (
    CutError,
    FormatError,
    UnknownClassError,
    VersionMismatchError,
    VersionMismatchException,
)
from cobnut.interop.hadoop.header import Header, full_class_name, short_class_name
from cobnut.interop.hadoop.mapfile import ArrayFileReader, ArrayFileWriter, MapFileReader, MapFileWriter
from cobnut.interop.hadoop.mapwritable import MapWritable, TypedValue
from cobnut.interop.hadoop.sequencefile import (
    RawRecord,
    SequenceFileReader,
    SequenceFileWriter,
    Skipped,
    read_header,
)
from cobnut.interop.hadoop.writable import Writable

__all__ = [
    "ArrayFileReader", "ArrayFileWriter", "CutError", "DataInput", "DataOutput", "FormatError", "Header",
    "MapFileReader", "MapFileWriter", "MapWritable", "RawRecord", "SequenceFileReader", "SequenceFileWriter",
    "Skipped", "TypedValue", "UnknownClassError", "VersionMismatchError", "VersionMismatchException",
    "Writable", "full_class_name", "read_header", "short_class_name",
]  # fmt: skip
