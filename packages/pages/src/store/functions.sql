-- A body that a row had and has no more, because it was replaced, purged or deleted with its domain, is condemned in the same
-- transaction. Foreign ones belong to the database that a backup came from.
create or replace function condemn_body() returns trigger language plpgsql as $$
begin
  insert into body_gone (key, at) values (old.body_key, clock_timestamp()) on conflict (key) do nothing;
  return null;
end
$$;

-- By row, because a condition costs nothing where no row has a key; a statement's trigger would collect every row.
create or replace trigger page_body_replaced after update of body_key on page for each row
  when (old.body_key is not null and not old.body_foreign and old.body_key is distinct from new.body_key)
  execute function condemn_body();
create or replace trigger page_body_deleted after delete on page for each row
  when (old.body_key is not null and not old.body_foreign)
  execute function condemn_body();
create or replace trigger page_form_body_replaced after update of body_key on page_form for each row
  when (old.body_key is not null and not old.body_foreign and old.body_key is distinct from new.body_key)
  execute function condemn_body();
create or replace trigger page_form_body_deleted after delete on page_form for each row
  when (old.body_key is not null and not old.body_foreign)
  execute function condemn_body();
