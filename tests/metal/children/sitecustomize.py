"""In processes that tests start: the stand-in takes the place of Metal as soon as they ask for it, and not before.
`standin_plugin` puts this folder on their path."""

import importlib.abc
import importlib.util
import sys

_MODULE = "quadrants.toolchain.metal"


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name != _MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module

        def execute_and_install(module):
            execute(module)
            import metal_standin
            import pytest

            metal_standin.install(pytest.MonkeyPatch())

        spec.loader.exec_module = execute_and_install
        return spec


sys.meta_path.insert(0, _Finder())
