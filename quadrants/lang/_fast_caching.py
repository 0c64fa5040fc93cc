"""The key of dataclass field metadata that makes a member's value part of the fastcache key."""

FIELD_METADATA_CACHE_VALUE = "cache_value"
