-- A page that is stored stays: redirects of the hour (maintenance, sign-in) must not cost good copies.
with redirect as (
  insert into redirect (domain_id, path, status, location, stored_at)
  values ($1, $2, $3, $4, $5)
  on conflict (domain_id, path) do update set
    status = excluded.status, location = excluded.location, stored_at = excluded.stored_at
)
select pg_notify('invalidate', json_build_object('domain', $1::integer, 'path', $2::text,
  'stored', (extract(epoch from $5::timestamptz) * 1000)::bigint)::text)
