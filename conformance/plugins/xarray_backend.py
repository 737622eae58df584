"""pytest plugin: run xarray's array API tests on another namespace.

These tests import array_api_strict and its Array by name. In this process the imports answer with
the namespace under test; xarray itself asks for neither.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

import backend

namespace = importlib.import_module(backend.NAME)
array_object = ModuleType("array_api_strict._array_object")
array_object.Array = type(namespace.asarray(0))  # type: ignore[attr-defined]

if backend.NAME != "array_api_strict":
    sys.modules["array_api_strict"] = namespace
    sys.modules["array_api_strict._array_object"] = array_object
