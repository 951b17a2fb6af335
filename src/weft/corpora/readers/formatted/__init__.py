"""Formatted text: HTML, Markdown, Word documents, PDF and subtitles."""
