# Crawlers get finished pages from the edge of Prepaint; when that cannot be had, the app answers.
# Replace: the two backends. See docs/integrations/varnish.md.
vcl 4.1;

backend app {
    .host = "127.0.0.1:8000";
}

backend prepaint {
    .host = "127.0.0.1:8080";
    .connect_timeout = 1s;
    # Longer than PREPAINT_LIVE_WAIT_MS.
    .first_byte_timeout = 14s;
}

sub vcl_recv {
    set req.backend_hint = app;
    # A request with X-Prerender is one of Prepaint's own renderer.
    if (req.restarts == 0 && req.method ~ "^(GET|HEAD)$" && !req.http.X-Prerender
        && req.http.User-Agent ~ {"(?i)(?<!cu)bots?(?:\b|_)|botify|crawl|spider|slurp|preview|fetcher|archiv|externalhit|externalagent|webindexer|facebookcatalog|imgproxy|scrap\b|line-poker|embedly|iframely|^whatsapp/|vkshare|pinterest/0|bluesky|^mastodon/|^tumblr/|flipboardproxy|google-(?!pagespeed)|-google|googleother|chatgpt|claude-|anthropic|perplexity|cohere-|mistralai|xing-contenttab|yahoo link|yahoomailproxy|amazon-quick|lightpanda/|owler@|^owler/|miniature\.io/|gemini-deep|cotoyogi|yandex(?:images|direct|metrika)|naver\.me|qwantify|daumoa|screaming frog|barkrowler|ahrefssiteaudit|seokicks|sistrix|sitebulb|lumar|megaindex|heritrix|^feedly/|w3c_validator"}
        && regsub(req.url, "\?.*", "") !~ {"(?i)\.(?:js|mjs|css|map|json|xml|txt|png|jpe?g|gif|svg|ico|webp|avif|woff2?|ttf|otf|mp[34]|webm|pdf|zip|gz|wasm|webmanifest)$"}) {
        set req.backend_hint = prepaint;
        unset req.http.Cookie;
        set req.http.X-Prerender-Int-Type = "Varnish";
    }
    return (pass);
}

sub vcl_deliver {
    # What is no page of the site: the app answers.
    if (req.backend_hint == prepaint
        && (resp.status >= 500 || !resp.http.X-Prepaint || resp.http.X-Prepaint ~ "^none")) {
        return (restart);
    }
}
