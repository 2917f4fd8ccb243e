# A middleware of Django that gives crawlers finished pages; when that cannot be had, the app answers.
# The first line of MIDDLEWARE: "django_prepaint.Prepaint". See docs/integrations/django.md.
# In settings.py: PREPAINT = {"API": "127.0.0.1:3000", "KEY": os.environ["PREPAINT_KEY"], "SITE": "https://www.example.com"}
# Environment: PREPAINT_KEY=pp_site_TOKEN
import http.client
import re

from django.conf import settings
from django.http import HttpResponse

WAIT_SECONDS = 14
CRAWLER = re.compile(r"""(?<!cu)bots?(?:\b|_)|botify|crawl|spider|slurp|preview|fetcher|archiv|externalhit|externalagent|webindexer|facebookcatalog|imgproxy|scrap\b|line-poker|embedly|iframely|^whatsapp/|vkshare|pinterest/0|bluesky|^mastodon/|^tumblr/|flipboardproxy|google-(?!pagespeed)|-google|googleother|chatgpt|claude-|anthropic|perplexity|cohere-|mistralai|xing-contenttab|yahoo link|yahoomailproxy|amazon-quick|lightpanda/|owler@|^owler/|miniature\.io/|gemini-deep|cotoyogi|yandex(?:images|direct|metrika)|naver\.me|qwantify|daumoa|screaming frog|barkrowler|ahrefssiteaudit|seokicks|sistrix|sitebulb|lumar|megaindex|heritrix|^feedly/|w3c_validator""", re.I)
ASSET = re.compile(r"\.(?:js|mjs|css|map|json|xml|txt|png|jpe?g|gif|svg|ico|webp|avif|woff2?|ttf|otf|mp[34]|webm|pdf|zip|gz|wasm|webmanifest)$", re.I)
# They are about the connection to Prepaint.
NOT_PASSED = {"connection", "keep-alive", "transfer-encoding", "content-length"}


class Prepaint:
    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        page = page_for(request) if is_for_prepaint(request) else None
        return self.get_response(request) if page is None else page


def is_for_prepaint(request):
    # A request with X-Prerender is one of Prepaint's own renderer.
    return (
        request.method in ("GET", "HEAD")
        and "HTTP_X_PRERENDER" not in request.META
        and CRAWLER.search(request.META.get("HTTP_USER_AGENT", "")) is not None
        and ASSET.search(request.path) is None
    )


def page_for(request):
    given = settings.PREPAINT
    # The path as it was sent, where the server tells it.
    path = request.META.get("RAW_URI") or request.META.get("REQUEST_URI") or request.get_full_path()
    headers = {"X-Prerender-Token": given["KEY"], "X-Prerender-Int-Type": "Django"}
    headers["User-Agent"] = request.META["HTTP_USER_AGENT"]
    headers["Accept"] = request.META.get("HTTP_ACCEPT", "*/*")
    connection = http.client.HTTPConnection(given["API"], timeout=WAIT_SECONDS)
    try:
        connection.request(request.method, "/" + given["SITE"] + path, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        # Without X-Prepaint it is a refusal.
        if answer.getheader("X-Prepaint") is None:
            return None
        page = HttpResponse(body, status=answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in NOT_PASSED:
                page[name] = value
        return page
    except (OSError, ValueError, http.client.HTTPException):
        return None  # Prepaint is away.
    finally:
        connection.close()
