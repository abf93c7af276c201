"""evaltrail is a program; this package contains its plugin for pytest."""
