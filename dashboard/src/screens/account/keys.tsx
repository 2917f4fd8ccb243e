import { Alert, Anchor, Button, Checkbox, Group, NativeSelect, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { RIGHTS, type Right } from '@prepaint/contract/roles.ts'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'

import { keysQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { useRights } from '../../api/rights.ts'
import { useMe } from '../../api/session.ts'
import type { ApiKey } from '../../api/types.ts'
import { Form, type Sent } from '../../parts/form.tsx'
import { Note, Page, Section } from '../../parts/page.tsx'
import { Secrets } from '../../parts/secrets.tsx'
import { Refusal } from '../../parts/states.tsx'
import { ROUTES } from '../../route-map.ts'
import { DomainChoice } from './domain-choice.tsx'
import classes from './keys.module.css'

const MAX_KEYS = 5

const MEANS: Record<Right, string> = {
  read: 'see domains, pages, traffic and reports',
  refresh: 'purge, refresh and render pages; what a site’s own front needs',
  write: 'change domains, settings, redirects and certificates; does not include read',
}

const LIFETIMES = [
  { value: '', label: 'Never expires' },
  { value: '30', label: 'Expires in 30 days' },
  { value: '90', label: 'Expires in 90 days' },
  { value: '365', label: 'Expires in a year' },
  { value: 'day', label: 'Expires on a date…' },
]

export default function Keys() {
  const { api_keys: hasKeys } = useMe().plan
  const may = useRights()
  const keys = useQuery(keysQuery)
  const create = useMutation({
    mutationFn: (body: NewKeyBody) => request<{ name: string; key: string }>('POST', '/api/keys', { body }),
    onSuccess: () => keys.refetch(),
  })
  const active = keys.data?.filter(({ state }) => state === 'active').length ?? 0
  return (
    <Page title="API keys" lead="API keys let your programs manage sites and pages.">
      {hasKeys ? (
        <Section
          title="Create a key"
          lead={
            <>
              {active} of {MAX_KEYS} keys are in use. See the{' '}
              <Anchor href="/docs" underline="always">
                API reference
              </Anchor>{' '}
              for what a key can do
              {may('listAudit') && (
                <>
                  , and the{' '}
                  <Anchor component={Link} href={ROUTES.auditLog} underline="always">
                    audit log
                  </Anchor>{' '}
                  for what keys did
                </>
              )}
              .
            </>
          }
        >
          <NewKey create={create} isFull={active >= MAX_KEYS} />
        </Section>
      ) : (
        <Alert color="yellow" title="Your plan has no API access">
          Existing keys do not work, and you cannot create new ones. Ask the operator for a plan with API
          access.
        </Alert>
      )}
      <div className="sheet sheet-flush">
        <Secrets
          noun="key"
          secrets={keys}
          empty="Your keys are listed here. Until then, only the dashboard can change your domains."
          api="/api/keys"
          limitsOf={limitsOf}
          effect="every program that uses it stops working"
          created={create.data === undefined ? null : shownOnce(create.data)}
          onSeen={create.reset}
        />
      </div>
    </Page>
  )
}

/** What a key may do, if that is not everything. */
function limitsOf({ rights, domains, created_by: author }: ApiKey): string[] {
  const limits = rights.length === RIGHTS.length ? [] : [`may ${rights.join(' and ')}`]
  if (domains !== null) limits.push(domains.length === 0 ? 'no domain' : domains.join(', '))
  if (author !== null) limits.push(`made by ${author}`)
  return limits
}

function shownOnce({ name, key }: { name: string; key: string }) {
  const command = `curl ${location.origin}/api/domains \\\n  -H 'X-Api-Key: ${key}'`
  return { name, secret: key, command: { label: 'List your domains with it', value: command } }
}

/** `domains` null: all, later ones too. */
type NewKeyBody = { name: string; expires_at: string | null; rights: Right[]; domains: string[] | null }

type Create = Sent & {
  mutate: (body: NewKeyBody, options: { onSuccess: () => void }) => void
}

function NewKey({ create, isFull }: { create: Create; isFull: boolean }) {
  const form = useForm({
    initialValues: {
      ...{ name: '', lifetime: '', day: '' },
      rights: [...RIGHTS] as Right[],
      isLimited: false,
      domains: [] as string[],
    },
    validate: {
      name: (name) => (name.trim() === '' ? 'Name what will use it, such as "agency scripts"' : null),
      day: (day, { lifetime }) =>
        lifetime === 'day' && !isInFuture(day) ? 'Choose a date in the future' : null,
      rights: (rights) => (rights.length === 0 ? 'Choose at least one right' : null),
      domains: (domains, { isLimited }) =>
        isLimited && domains.length === 0 ? 'Choose at least one domain' : null,
    },
  })
  const submit = ({ name, lifetime, day, rights, isLimited, domains }: typeof form.values) =>
    create.mutate(
      {
        name: name.trim(),
        expires_at: expiryOf(lifetime, day),
        rights,
        domains: isLimited ? domains : null,
      },
      { onSuccess: form.reset },
    )
  const { isLimited, domains } = form.values
  return (
    <Form sent={create} onSubmit={form.onSubmit(submit)}>
      <Stack gap="xs">
        <div className={classes.create}>
          <TextInput label="Name" autoComplete="off" required {...form.getInputProps('name')} />
          <NativeSelect label="Expiry" data={LIFETIMES} {...form.getInputProps('lifetime')} />
          {form.values.lifetime === 'day' && (
            <TextInput type="date" label="Last day" required {...form.getInputProps('day')} />
          )}
        </div>
        <Checkbox.Group label="Rights" {...form.getInputProps('rights')}>
          <Stack gap={6} mt={6}>
            {RIGHTS.map((right) => (
              <Checkbox key={right} value={right} label={`${right}: ${MEANS[right]}`} />
            ))}
          </Stack>
        </Checkbox.Group>
        <Checkbox
          label="Only named domains"
          checked={isLimited}
          onChange={(event) => form.setFieldValue('isLimited', event.currentTarget.checked)}
        />
        {isLimited && (
          <DomainChoice
            chosen={domains}
            error={form.errors['domains'] as string | undefined}
            onChange={(chosen) => form.setFieldValue('domains', chosen)}
          />
        )}
        <Group>
          <Button type="submit" loading={create.isPending} disabled={isFull}>
            Create
          </Button>
        </Group>
        {isFull && (
          <Note size="sm">An account can have {MAX_KEYS} active keys. Revoke one to create another.</Note>
        )}
        <Refusal error={create.error} />
      </Stack>
    </Form>
  )
}

function isInFuture(day: string): boolean {
  return endOfDay(day) > Date.now()
}

function expiryOf(lifetime: string, day: string): string | null {
  if (lifetime === '') return null
  const atMs = lifetime === 'day' ? endOfDay(day) : Date.now() + Number(lifetime) * 86_400_000
  return new Date(atMs).toISOString()
}

/** Returns the last second of a day in the viewer's time zone, or NaN if it is not a date. */
function endOfDay(day: string): number {
  return Date.parse(`${day}T23:59:59`)
}
