-- An inspection that is deleted, by a purge or with its domain, takes its task along: the node that looks at the page stops
-- when it renews the lease.
create or replace function delete_inspection_task() returns trigger language plpgsql as $$
begin
  perform drop_task('inspection', old.id::text);
  return null;
end
$$;
create or replace trigger inspection_deletes_task after delete on inspection
  for each row execute function delete_inspection_task();
