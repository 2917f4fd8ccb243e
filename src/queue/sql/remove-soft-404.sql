-- Pages that were stored before anybody knew better; one that was rendered anew meanwhile stays.
with gone as (
  delete from page using unnest($2::text[], $3::text[]) as bad (path, etag)
   where page.domain_id = $1 and page.path = bad.path and page.etag = bad.etag
  returning page.path
)
select pg_notify('invalidate', json_build_object('domain', $1::integer, 'path', path)::text) from gone
