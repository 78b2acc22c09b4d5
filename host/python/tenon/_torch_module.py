class GraphModule: pass
def module(g): pass
