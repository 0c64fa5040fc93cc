"""Compiled parts: the launch core and its C interface (`qd_abi.h`)."""
