import { Button, Code, Group, NativeSelect, Text, TextInput } from '@mantine/core'
import { useInfiniteQuery, useMutation } from '@tanstack/react-query'
import { useDeferredValue, useState } from 'react'
import { ACTION_TITLES, type AuditFilter, auditQuery, auditUrl } from '../../api/audit-queries.ts'
import { downloadFile } from '../../api/download.ts'
import { useMe } from '../../api/session.ts'
import type { AuditEntry } from '../../api/types.ts'
import { exactTime } from '../../format.ts'
import { DataTable } from '../../parts/data-table.tsx'
import { notifyFailed } from '../../parts/notifications.tsx'
import { Note, Page } from '../../parts/page.tsx'
import { ShowMore } from '../../parts/show-more.tsx'
import { Empty, Loaded, NothingFound } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { ROUTES } from '../../route-map.ts'
import { ScreenTabs } from '../../shell/screen-tabs.tsx'
import classes from './audit-log.module.css'

const NO_FILTER: AuditFilter = { action: '', actor: '', domain: '', from: '', to: '' }

export default function AuditLog() {
  const { name } = useMe()
  const [filter, setFilter] = useState(NO_FILTER)
  const asked = useDeferredValue(filter)
  const log = useInfiniteQuery(auditQuery(asked))
  return (
    <Page
      title="Audit log"
      lead={`Who changed what in ${name}, and from where. Entries cannot be changed or deleted.`}
      actions={<Exports filter={filter} />}
    >
      <ScreenTabs label="Account settings" of={ROUTES.account} />
      <Filters filter={filter} onChange={setFilter} />
      <div className="sheet sheet-flush">
        <Loaded query={log}>
          {({ pages }) => (
            <Entries
              entries={pages.flatMap(({ entries }) => entries)}
              filter={asked}
              onClear={() => setFilter(NO_FILTER)}
            />
          )}
        </Loaded>
      </div>
      <ShowMore list={log}>Show older entries</ShowMore>
    </Page>
  )
}

function Filters({ filter, onChange }: { filter: AuditFilter; onChange: (filter: AuditFilter) => void }) {
  const field = (name: keyof AuditFilter) => ({
    value: filter[name],
    onChange: (event: { currentTarget: { value: string } }) =>
      onChange({ ...filter, [name]: event.currentTarget.value }),
  })
  const groups = Object.entries(ACTION_TITLES).map(([value, label]) => ({ value, label }))
  return (
    <search className={classes.filters}>
      <NativeSelect
        label="What"
        data={[{ value: '', label: 'Everything' }, ...groups]}
        {...field('action')}
      />
      <TextInput label="Who" placeholder="Address or key" {...field('actor')} />
      <TextInput label="Domain" placeholder="www.example.com" {...field('domain')} />
      <TextInput label="From" type="date" {...field('from')} />
      <TextInput label="Until" type="date" {...field('to')} />
    </search>
  )
}

function Entries(props: { entries: readonly AuditEntry[]; filter: AuditFilter; onClear: () => void }) {
  const { entries, filter, onClear } = props
  const words = filterWords(filter)
  return (
    <DataTable
      rows={entries}
      keyOf={({ id }) => id}
      empty={
        words === '' ? (
          <Empty title="Nothing was recorded yet">
            Changes of domains, members, keys and settings are listed here.
          </Empty>
        ) : (
          <NothingFound title={`No entry ${words}`} all="Show all entries" onClear={onClear}>
            Names and domains must be whole.
          </NothingFound>
        )
      }
      columns={[
        {
          title: 'When',
          cell: ({ at }) => (
            <>
              <Text size="sm" className={classes.when}>
                <TimeText at={at} />
              </Text>
              <Note>{exactTime(at)}</Note>
            </>
          ),
        },
        {
          title: 'Who',
          kind: 'labelled',
          cell: ({ actor, address }) => (
            <>
              <Text size="sm" className={`break ${classes.who}`}>
                {actor.name}
              </Text>
              <Note className="break">{[KINDS[actor.kind], address].filter(Boolean).join(', ')}</Note>
            </>
          ),
        },
        {
          title: 'What',
          kind: 'labelled',
          cell: ({ action, domain, target }) => (
            <>
              <Text size="sm" fw={500}>
                {wordsOf(action)}
              </Text>
              <Note className="break">{[target, domain].filter(Boolean).join(', ')}</Note>
            </>
          ),
        },
        {
          title: 'Details',
          kind: 'labelled',
          cell: (entry) => <Details entry={entry} />,
        },
      ]}
    />
  )
}

/** Names the filters that are set: `about “API keys” by ann@example.com`. */
function filterWords({ action, actor, domain, from, to }: AuditFilter): string {
  const words: string[] = []
  if (action !== '') words.push(`about “${ACTION_TITLES[action] ?? action}”`)
  if (actor.trim() !== '') words.push(`by ${actor.trim()}`)
  if (domain.trim() !== '') words.push(`of ${domain.trim()}`)
  if (from !== '') words.push(`from ${from}`)
  if (to !== '') words.push(`until ${to}`)
  return words.join(' ')
}

const KINDS: Record<AuditEntry['actor']['kind'], string> = {
  person: '',
  key: 'API key',
  share_link: 'share link',
  operator: 'operator',
  command_line: 'command of the operator',
  sso: 'single sign-on',
  system: 'Prepaint',
}

/** `member.role_changed` is "Member: role changed". */
function wordsOf(action: string): string {
  const [subject = '', verb = ''] = action.replaceAll('_', ' ').split('.')
  return `${subject.charAt(0).toUpperCase()}${subject.slice(1)}: ${verb}`
}

function Details({
  entry: { details, way, user_agent: program, request_id: request },
}: {
  entry: AuditEntry
}) {
  const changed = Object.entries(details)
  return (
    <details className={classes.details}>
      <summary>{changed.length === 0 ? 'Request' : changed.map(([field]) => field).join(', ')}</summary>
      {changed.map(([field, value]) => (
        <Note key={field} className="break">
          {field}: {shown(value)}
        </Note>
      ))}
      {way !== null && <Note>signed in by {way}</Note>}
      {program !== null && program !== '' && <Note className="break">{program}</Note>}
      {request !== null && (
        <Note className="break">
          request <Code>{request}</Code>
        </Note>
      )}
    </details>
  )
}

function shown(value: unknown): string {
  if (typeof value === 'object' && value !== null && 'old' in value && 'new' in value) {
    return `${JSON.stringify(value.old)} → ${JSON.stringify(value.new)}`
  }
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function Exports({ filter }: { filter: AuditFilter }) {
  const download = useMutation({
    mutationFn: (format: 'csv' | 'jsonl') => downloadFile(auditUrl(filter, { format })),
    onError: (error) => notifyFailed('The file could not be downloaded', error),
  })
  return (
    <Group gap="xs">
      <Button variant="default" size="xs" loading={download.isPending} onClick={() => download.mutate('csv')}>
        Export CSV
      </Button>
      <Button
        variant="default"
        size="xs"
        loading={download.isPending}
        onClick={() => download.mutate('jsonl')}
      >
        Export JSON
      </Button>
    </Group>
  )
}
