-- The audit log cannot be changed, also not by a statement: entries go when they are older than the retention, or with their
-- account. A restore disables triggers, as it takes only an empty database.
create or replace function refuse_audit_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    if old.at < clock_timestamp() - make_interval(days => (select days from audit_retention)) then return old; end if;
    if not exists (select from account where id = old.account_id) then return old; end if;
  end if;
  raise exception 'Entries of the audit log cannot be changed or deleted' using errcode = 'insufficient_privilege';
end
$$;
create or replace trigger audit_entry_is_kept before update or delete on audit_entry
  for each row execute function refuse_audit_change();
create or replace trigger audit_log_is_kept before truncate on audit_entry
  for each statement execute function refuse_audit_change();

-- Writes an entry in the transaction of what it records. `actor` has kind, id, name, way, address, user_agent and request_id.
create or replace function record_audit(in_account integer, actor jsonb, what text, about_domain text, about text, more jsonb)
returns table (entry_id bigint, entry_at timestamptz) language sql as $$
  insert into audit_entry (account_id, actor_kind, actor_id, actor_name, way, address, user_agent, request_id, action, domain, target, details)
  values (in_account, actor->>'kind', (actor->>'id')::integer, actor->>'name', actor->>'way', actor->>'address',
          actor->>'user_agent', actor->>'request_id', what, about_domain, about, more)
  returning id, at
$$;
