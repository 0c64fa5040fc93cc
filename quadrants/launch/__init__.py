"""Records of a compiled kernel without IR: what emit writes, and the runtime, fastcache and the launch core read."""
