"""receivers"""
