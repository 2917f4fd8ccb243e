-- What is stored of a page that may no longer be stored. The memory of every node learns of it at the commit.
with page as (
  delete from page where domain_id = $1 and path = $2
), redirect as (
  delete from redirect where domain_id = $1 and path = $2
)
select pg_notify('invalidate', json_build_object('domain', $1::integer, 'path', $2::text)::text)
