-- The memory of every node learns of it at the commit.
-- A snapshot that is the same as before lengthens the page's life, and nothing else: its bytes are not written again, and
-- to crawlers it has not changed since. `unchanged` says so.
with stored as (
  insert into page as known (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at, text_chars,
                             changed_at, application)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $8, $10)
  on conflict (domain_id, path) do update set
    status = excluded.status, headers = excluded.headers,
    body_br = case when known.etag = excluded.etag then known.body_br else excluded.body_br end,
    html_bytes = excluded.html_bytes, etag = excluded.etag, rendered_at = excluded.rendered_at,
    stale_since = null, text_chars = excluded.text_chars, doubted_at = null,
    changed_at = case when known.etag = excluded.etag and known.status = excluded.status
                      then coalesce(known.changed_at, known.rendered_at) else excluded.changed_at end,
    application = excluded.application,
    previous_application = case when known.application is distinct from excluded.application
                                then known.application else known.previous_application end
  returning changed_at < rendered_at as unchanged
), no_longer as (
  delete from redirect where domain_id = $1 and path = $2
)
select pg_notify('invalidate', json_build_object('domain', $1::integer, 'path', $2::text)::text), unchanged from stored
