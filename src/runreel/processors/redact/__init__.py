"""redact"""
