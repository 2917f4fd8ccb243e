-- The memory of every node learns of it at the commit.
with page as (
  insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at, text_chars)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
  on conflict (domain_id, path) do update set
    status = excluded.status, headers = excluded.headers, body_br = excluded.body_br,
    html_bytes = excluded.html_bytes, etag = excluded.etag, rendered_at = excluded.rendered_at,
    stale_since = null, text_chars = excluded.text_chars, doubted_at = null
), no_longer as (
  delete from redirect where domain_id = $1 and path = $2
)
select pg_notify('invalidate', json_build_object('domain', $1::integer, 'path', $2::text)::text)
