from nonsmooth.results.plots import plot_result


class Plotter:
    def __init__(self, result):
        self._result = result

    def __call__(self, path=None, **options):
        return plot_result(self._result, path=path, **options)
