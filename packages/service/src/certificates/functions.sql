-- Nodes of 0.2.0 create domains without `expectCertificate`. Goes in the release after 0.3.0 (docs/releasing.md).
create or replace function expect_certificate() returns trigger language plpgsql as $$
begin
  insert into certificate_order (domain_id) values (new.id);
  return null;
end
$$;
create or replace trigger domain_expects_certificate after insert on domain
  for each row execute function expect_certificate();
