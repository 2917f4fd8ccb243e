import { Alert, Button, Group, NativeSelect, PasswordInput, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { domainQuery, domainUrl, egressQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { DomainWithSettings, Egress } from '../../api/types.ts'
import { type Copied, CopyField } from '../../parts/copy-field.tsx'
import { RowButton } from '../../parts/data-table.tsx'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { Form } from '../../parts/form.tsx'
import { notifyDone } from '../../parts/notifications.tsx'
import { Note, Section } from '../../parts/page.tsx'
import { Refusal } from '../../parts/states.tsx'

type Header = { name: string; value: string | null; for: 'renders' | 'all' }

const MAX_HEADERS = 10

/** Secret headers that let Prepaint into the origin, and what a firewall must let through. */
export function OriginAccess({ domain }: { domain: DomainWithSettings }) {
  const { custom_domain: name, settings } = domain
  const headers: Header[] = settings.origin_headers
  const [removed, setRemoved] = useState<string | null>(null)
  const queries = useQueryClient()
  const save: Save = async (changed) => {
    const body = { settings: { origin_headers: changed } }
    const answer = await request<{ domain: DomainWithSettings }>('PUT', domainUrl(name), { body })
    queries.setQueryData(domainQuery(name).queryKey, answer.domain)
  }
  return (
    <Section
      title="Access to the origin"
      lead="For a site behind a password or a firewall. Headers go to the origin only. Their values are stored encrypted and never shown."
    >
      {headers.map((header) => (
        <Group key={header.name} gap="sm">
          <Text size="sm" fw={500} className="break">
            {header.name}
          </Text>
          <Note size="sm">{header.for === 'all' ? 'with all requests' : 'with renders'}</Note>
          <RowButton label="Remove" subject={header.name} onClick={() => setRemoved(header.name)} />
        </Group>
      ))}
      {removed !== null && (
        <ConfirmDialog
          title={`Remove ${removed}?`}
          label="Remove"
          onClose={() => setRemoved(null)}
          run={async () => {
            await save(headers.filter((header) => header.name !== removed))
            notifyDone(`${removed} is not sent any more`)
          }}
        >
          <Text size="sm">Renders fail if the origin asks for it.</Text>
        </ConfirmDialog>
      )}
      {headers.length < MAX_HEADERS && <NewHeader headers={headers} save={save} />}
      <Firewall name={headers[0]?.name ?? 'X-Origin-Secret'} />
    </Section>
  )
}

type Save = (changed: readonly Header[]) => Promise<void>

function NewHeader({ headers, save }: { headers: readonly Header[]; save: Save }) {
  const form = useForm<Header & { value: string }>({
    initialValues: { name: '', value: '', for: 'renders' },
    validate: {
      name: (name) => (/^[\w!#$%&'*+.^`|~-]+$/.test(name) ? null : 'Enter the name of a header'),
      value: (value) => (value === '' ? 'Enter the value' : null),
    },
  })
  const add = useMutation({
    mutationFn: (header: Header) => {
      const isOther = ({ name }: Header) => name.toLowerCase() !== header.name.toLowerCase()
      return save([...headers.filter(isOther), header])
    },
    onSuccess: () => {
      notifyDone('Saved. The header is sent from the next request.')
      form.reset()
    },
  })
  return (
    <Form sent={add} onSubmit={form.onSubmit((header) => add.mutate(header))}>
      <Stack className="form" gap="sm">
        <TextInput
          label="Header"
          placeholder="X-Origin-Secret"
          description="A name that is there already gets the new value"
          spellCheck={false}
          required
          {...form.getInputProps('name')}
        />
        <PasswordInput label="Value" autoComplete="off" required {...form.getInputProps('value')} />
        <NativeSelect
          label="Sent with"
          data={[
            { value: 'renders', label: 'renders only' },
            { value: 'all', label: 'everything that is passed to the origin too' },
          ]}
          {...form.getInputProps('for')}
        />
        {form.values.for === 'all' && (
          <Alert color="yellow" title="This opens the origin to every client">
            Every client that requests this domain gets the origin then, with this header. A password or
            firewall protects nothing any more.
          </Alert>
        )}
        <Refusal error={add.error} />
        <Group>
          <Button type="submit" variant="default" loading={add.isPending}>
            Save the header
          </Button>
        </Group>
      </Stack>
    </Form>
  )
}

function Firewall({ name }: { name: string }) {
  const { data } = useQuery(egressQuery)
  if (data === undefined) return null
  return (
    <details>
      <summary>Let Prepaint through your firewall</summary>
      <Stack gap="sm" pt="sm">
        <Text size="sm">
          Choose a long random value, save it above as {name}, and put it in place of SECRET. User agents can
          be forged: let requests through by the header, or by address, not by user agent.
        </Text>
        <CopyField label="User agent contains" value={data.user_agent} />
        {data.addresses.length === 0 ? (
          <Note size="sm">The operator of this service has not named the addresses of its nodes.</Note>
        ) : (
          <CopyField label="Addresses" value={data.addresses.join('\n')} />
        )}
        {firewallRules(name, data).map((rule) => (
          <CopyField key={rule.label} {...rule} />
        ))}
      </Stack>
    </details>
  )
}

function firewallRules(name: string, { addresses }: Egress): Copied[] {
  const lower = name.toLowerCase()
  const byAddress = addresses.length === 0 ? '' : ` and ip.src in {${addresses.join(' ')}}`
  const waf = {
    Name: 'prepaint',
    Priority: 0,
    Action: { Allow: {} },
    Statement: {
      ByteMatchStatement: {
        FieldToMatch: { SingleHeader: { Name: lower } },
        PositionalConstraint: 'EXACTLY',
        SearchString: 'SECRET',
        TextTransformations: [{ Priority: 0, Type: 'NONE' }],
      },
    },
    VisibilityConfig: {
      SampledRequestsEnabled: false,
      CloudWatchMetricsEnabled: true,
      MetricName: 'prepaint',
    },
  }
  return [
    {
      label: 'Cloudflare: custom rule, action Skip',
      value: `any(http.request.headers["${lower}"][*] eq "SECRET")${byAddress}`,
    },
    { label: 'AWS WAF: rule, before the others', value: JSON.stringify(waf, null, 2) },
    {
      label: 'nginx: refuse all but Prepaint',
      value: `if ($http_${lower.replaceAll('-', '_')} != "SECRET") {\n  return 403;\n}`,
    },
  ]
}
