"""boundaries"""
