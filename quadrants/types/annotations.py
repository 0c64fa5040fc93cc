"""Annotations of template parameters and sparse matrix builders."""

from quadrants.lang.annotations import Template, sparse_matrix_builder, template

__all__ = ["Template", "sparse_matrix_builder", "template"]
