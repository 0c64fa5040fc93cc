from quadrants import absent

__getattr__ = absent.names_of("tools", globals())
