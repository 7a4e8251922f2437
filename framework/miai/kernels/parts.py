"""How numba compiles a part: into the kernels that call it, and to no machine code of its own.

Otherwise numba optimises and translates every part by itself, with all that it calls, and LLVM sees
the lowest parts once for each level above them. Handed up as it is, a part is optimised once, where
it is inlined. That saves a third of the compilation, and the kernels are as fast.
"""

from __future__ import annotations

from typing import Any, Final

import numba.core.codegen
import numba.core.compiler

_Library: Any = numba.core.codegen.JITCodeLibrary
_Compiler: Any = numba.core.compiler.Compiler


class _NoEnvironment:
    """Stands for the code generator where numba gives a compiled function its environment.

    A part has no machine code whose environment could be set, and needs none: kernels that are
    loaded from the cache have none for their parts, either.
    """

    @staticmethod
    def set_env(name: str, environment: object) -> None:
        """Do nothing."""


class _PartLibrary(_Library):  # type: ignore[misc]
    """The code of a part with all that it calls, not optimised."""

    codegen = _NoEnvironment

    def finalize(self) -> None:
        """Link what the part calls."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            if hasattr(library, "_reload_init"):  # numba 0.61 has none
                self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0, as for a function that is not there: Python cannot call a part."""
        self._ensure_finalized()
        return 0


class _PartCompiler(_Compiler):  # type: ignore[misc]
    def define_pipelines(self) -> Any:
        state = self.state
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super().define_pipelines()


_INNER: Final = (
    (_Library, "_get_module_for_linking"),
    (_Library, "_finalize_dynamic_globals"),
    (_Library, "_raise_if_finalized"),
    (_Library, "_ensure_finalized"),
    (_Compiler, "define_pipelines"),
)
PART: Final[dict[str, Any]] = {
    # Without numba's runtime a kernel cannot create arrays, and needs no reference counts.
    "_nrt": False,
    # Nor does a part need wrappers for Python or C.
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}
"""Options of numba for a part."""
if all(hasattr(where, name) for where, name in _INNER):  # a version without them is left alone
    PART["pipeline_class"] = _PartCompiler
