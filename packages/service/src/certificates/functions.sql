-- Nodes of 0.2.0 create domains without `expectCertificate`. Goes in the release after 0.3.0 (docs/releasing.md).
create or replace function expect_certificate() returns trigger language plpgsql as $$
begin
  insert into certificate_order (domain_id) values (new.id);
  return null;
end
$$;
create or replace trigger domain_expects_certificate after insert on domain
  for each row execute function expect_certificate();

-- The order of a deleted domain takes its task along: the node that works on it stops when it renews the lease.
create or replace function delete_certificate_order_task() returns trigger language plpgsql as $$
begin
  perform drop_task('certificate-order', old.domain_id::text);
  return null;
end
$$;
create or replace trigger certificate_order_deletes_task after delete on certificate_order
  for each row execute function delete_certificate_order_task();
