from metal_standin import apple, standin  # noqa: F401
