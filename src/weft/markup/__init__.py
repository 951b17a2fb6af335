"""A scored text as HTML: one scale, one palette and one stylesheet for notebooks, reports and pages."""
