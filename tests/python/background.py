"""Work on another thread, whose errors the test raises."""

import threading

WAIT = 30


def run(work):
    failed = []

    def caught():
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised by the test
            failed.append(error)

    thread = threading.Thread(target=caught)
    thread.start()

    def end():
        thread.join(WAIT)
        assert not thread.is_alive(), "a thread hangs"
        if failed:
            raise failed[0]

    return end
