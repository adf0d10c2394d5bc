"""What a fetch worker does with messages, whenever they come."""

import select
import socket
import subprocess
import sys
import time

from cobnut.fetcher.messages import Begin, Channel, Done, Finish, Idle, RobotsAsk, RobotsTold
from cobnut.stages.fetch import make_spec
from cobnut.urls.hosts import bucket_of


def test_a_message_that_comes_together_with_the_beginning_is_heard(bench, web):
    """Another worker that was quicker may ask before this one has read its first message."""
    web.site("a.test", {"/robots.txt": "", "/x": "x"}).site("b.test", {"/robots.txt": "User-agent: *\nDisallow: /"})
    bench.seed("http://a.test/x")
    segment = bench.fetchlist("http://a.test/x")
    ours, theirs = socket.socketpair()
    with theirs:
        command = [sys.executable, "-P", "-m", "cobnut.fetcher.worker", str(theirs.fileno())]
        worker = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
    channel = Channel(ours, at_worker=False)
    try:
        channel.send(Begin(make_spec(bench.crawl, segment, bench.settings, (), 20.0), (0,)))
        channel.send(RobotsAsk("http://b.test/robots.txt", (), "http://c.test", 1, "b.test", bucket_of("b.test")))
        told, idle, done = None, None, False
        began = time.monotonic()
        while not done:
            assert time.monotonic() - began < 30, "the message was never heard"
            assert select.select([channel.fileno()], [], [], 20)[0], "the worker has nothing more to say"
            for message in channel.receive():
                if isinstance(message, RobotsTold):
                    told = message
                elif isinstance(message, Idle):
                    idle = (message.passed_in, message.passed_out)
                    if idle == (1, 1):
                        channel.send(Finish())
                done = done or isinstance(message, Done)
            assert not channel.closed
        assert told is not None
        assert (told.origin, told.state, told.asked_by) == ("http://c.test", "rules", 1)
    finally:
        channel.close()
        worker.wait(20)
    assert bench.row("http://a.test/x")["outcome"] == "success"
