import { Badge, Button, Checkbox, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { DEFAULT_SHARE_PARTS, SHARE_PARTS, type SharePart } from '@prepaint/contract/share-parts.ts'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { shareLinksQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { MadeShareLink, ShareLink } from '../../api/types.ts'
import { counted } from '../../format.ts'
import { useAddressed } from '../../parts/addressed.ts'
import { ShownOnce } from '../../parts/copy-field.tsx'
import { DataTable, RowButton } from '../../parts/data-table.tsx'
import { ConfirmDialog, FormDialog } from '../../parts/dialog.tsx'
import { Note, Page } from '../../parts/page.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { ROUTES } from '../../route-map.ts'
import { ScreenTabs } from '../../shell/screen-tabs.tsx'
import { DomainChoice } from './domain-choice.tsx'

const PART_TITLES: Record<SharePart, string> = {
  overview: 'Overview',
  traffic: 'Traffic: visits of crawlers',
  incidents: 'Incidents',
  pages: 'Cached pages, with their addresses',
  report: 'Reports: of each week and month',
}

const DAYS = [
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: 'date', label: 'On a date' },
]

const DAY_MS = 86_400_000
/** The day itself is shown, too. */
const endOf = (date: string) => new Date(Date.parse(`${date}T00:00:00Z`) + DAY_MS)
const dayIn = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10)
/** Links live for at most 400 days. */
const MOST_DAYS = 398

export default function ShareLinks() {
  const links = useQuery(shareLinksQuery)
  const [isMaking, setMaking] = useState(false)
  const [made, setMade] = useState<MadeShareLink | null>(null)
  const [revoking, setRevoking] = useState<ShareLink | null>(null)
  useAddressed('new', () => setMaking(true))
  return (
    <Page
      title="Share links"
      lead="Show some domains to somebody without a login. Whoever has the link sees what it names, and can change nothing."
      actions={<Button onClick={() => setMaking(true)}>Make a share link</Button>}
    >
      <ScreenTabs label="Members" of={ROUTES.members} />
      <div className="sheet sheet-flush">
        <Loaded query={links}>{(list) => <LinkTable links={list} onRevoke={setRevoking} />}</Loaded>
      </div>
      {isMaking && (
        <NewLink
          onClose={() => setMaking(false)}
          onMade={(link) => {
            setMaking(false)
            setMade(link)
            void links.refetch()
          }}
        />
      )}
      {made !== null && (
        <ShownOnce
          title={`The share link ${made.share_link.name}`}
          warning="Copy it now: it is shown only once. Whoever has it sees these domains until it expires or you revoke it."
          fields={[{ label: 'Link', value: made.url }]}
          onClose={() => setMade(null)}
        />
      )}
      {revoking !== null && (
        <ConfirmDialog
          title={`Revoke ${revoking.name}?`}
          label="Revoke"
          onClose={() => setRevoking(null)}
          run={async () => {
            await request('DELETE', `/api/share-links/${revoking.id}`)
            await links.refetch()
          }}
        >
          <Text size="sm">Who has the link sees nothing any more, at once. This cannot be undone.</Text>
        </ConfirmDialog>
      )}
    </Page>
  )
}

function LinkTable({
  links,
  onRevoke,
}: {
  links: readonly ShareLink[]
  onRevoke: (link: ShareLink) => void
}) {
  return (
    <DataTable
      rows={links}
      keyOf={({ id }) => id}
      empty={<Empty title="No share link yet">Links that you make are listed here.</Empty>}
      columns={[
        {
          title: 'Name',
          cell: ({ name, created_by: author }) => (
            <>
              <Text size="sm" fw={500} className="break">
                {name}
              </Text>
              {author !== null && <Note className="break">made by {author}</Note>}
            </>
          ),
        },
        {
          title: 'Shows',
          kind: 'labelled',
          cell: ({ domains, parts }) => (
            <>
              <Text size="sm" className="break">
                {domains.length <= 2 ? domains.join(', ') || 'no domain' : counted(domains.length, 'domain')}
              </Text>
              <Note>{parts.join(', ')}</Note>
            </>
          ),
        },
        {
          title: 'Expires',
          kind: 'labelled',
          cell: ({ expires_at: at }) =>
            Date.parse(at) <= Date.now() ? <Badge color="gray">expired</Badge> : <TimeText at={at} />,
        },
        { title: 'Last used', kind: 'labelled', cell: ({ last_used_at: at }) => <TimeText at={at} /> },
        {
          title: 'Actions',
          kind: 'action',
          cell: (link) => <RowButton label="Revoke" subject={link.name} onClick={() => onRevoke(link)} />,
        },
      ]}
    />
  )
}

function isPossible(date: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(date) && date >= dayIn(0) && date <= dayIn(MOST_DAYS)
}

function NewLink({ onClose, onMade }: { onClose: () => void; onMade: (made: MadeShareLink) => void }) {
  const form = useForm({
    initialValues: {
      name: '',
      days: '90',
      date: dayIn(30),
      domains: [] as string[],
      parts: [...DEFAULT_SHARE_PARTS] as SharePart[],
    },
    validate: {
      name: (name) => (name.trim() === '' ? 'Name who gets it' : null),
      domains: (domains) => (domains.length === 0 ? 'Choose at least one domain' : null),
      date: (date, { days }) =>
        days === 'date' && !isPossible(date) ? 'Choose a day in the next 13 months' : null,
      parts: (parts) => (parts.length === 0 ? 'Choose at least one part' : null),
    },
  })
  const send = useMutation({
    mutationFn: ({ name, days, date, domains, parts }: typeof form.values) => {
      const end = days === 'date' ? endOf(date) : new Date(Date.now() + Number(days) * DAY_MS - 60_000)
      const expires_at = end.toISOString()
      return request<MadeShareLink>('POST', '/api/share-links', {
        body: { name: name.trim(), domains, parts, expires_at },
      })
    },
    onSuccess: onMade,
  })
  return (
    <FormDialog
      title="Make a share link"
      label="Make the link"
      sent={send}
      onSubmit={form.onSubmit((values) => send.mutate(values))}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        placeholder="Client of the shop"
        autoComplete="off"
        required
        data-autofocus
        {...form.getInputProps('name')}
      />
      <NativeSelect label="Expires in" data={DAYS} {...form.getInputProps('days')} />
      {form.values.days === 'date' && (
        <TextInput
          label="Last day (UTC)"
          type="date"
          min={dayIn(0)}
          max={dayIn(MOST_DAYS)}
          {...form.getInputProps('date')}
        />
      )}
      <DomainChoice
        chosen={form.values.domains}
        error={form.errors['domains'] as string | undefined}
        onChange={(chosen) => form.setFieldValue('domains', chosen)}
      />
      <Checkbox.Group label="Shows" {...form.getInputProps('parts')}>
        <Stack gap={6} mt={6}>
          {SHARE_PARTS.map((part) => (
            <Checkbox key={part} value={part} label={PART_TITLES[part]} />
          ))}
        </Stack>
      </Checkbox.Group>
      <Note size="sm">Anyone with this link can see this.</Note>
    </FormDialog>
  )
}
