"""semconv"""
