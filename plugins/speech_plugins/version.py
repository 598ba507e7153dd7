"""The version under which the plugins register: that of the distribution."""

from importlib.metadata import version

__version__ = version("parley")
