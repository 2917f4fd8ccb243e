import { Anchor, Group, NativeSelect, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import {
  type CrawlerCategory,
  domainSettingsPatchSchema,
} from '@prepaint/contract/settings/domain-settings.ts'
import { problemsOf } from '@prepaint/contract/validation.ts'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { domainUrl } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { type Period, unrecognisedQuery } from '../../api/traffic-queries.ts'
import type { DomainWithSettings, Settings, UnrecognisedClient } from '../../api/types.ts'
import { CATEGORY_CHOICES } from '../../crawler-categories.ts'
import { count, counted } from '../../format.ts'
import { DataTable, RowButton } from '../../parts/data-table.tsx'
import { FormDialog } from '../../parts/dialog.tsx'
import { notifyDone, notifyFailed } from '../../parts/notifications.tsx'
import { Note, Section } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { settingsPath } from '../../route-map.ts'
import { withCrawler, withPerson } from './own-crawlers.ts'

const KINDS: Record<UnrecognisedClient['kind'], string> = {
  tool: 'Library, monitor or driven browser',
  unknown: 'Unknown',
}

/** Clients that look automatic and are treated as people, for the owner to decide. */
export function UnrecognisedClients({ domain, period }: { domain: string; period: Period }) {
  const found = useQuery(unrecognisedQuery(domain, period))
  return (
    <Section
      title="Not recognised"
      lead={
        <>
          Clients that look automatic and got the origin, as people do, in whole days (UTC). What you decide
          here is listed in the{' '}
          <Anchor component={Link} href={settingsPath(domain, 'crawlers', 'crawlers')} underline="always">
            settings
          </Anchor>
          .
        </>
      }
    >
      <Loaded query={found} rows={2}>
        {({ clients, others }) => (
          <>
            <ClientTable domain={domain} clients={clients} />
            {others > 0 && <Note mt="xs">And {counted(others, 'visit')} of other names.</Note>}
          </>
        )}
      </Loaded>
    </Section>
  )
}

function ClientTable({ domain, clients }: { domain: string; clients: readonly UnrecognisedClient[] }) {
  const [asked, setAsked] = useState<UnrecognisedClient | null>(null)
  const person = useCrawlerDecision(domain)
  const onError = (error: unknown) => notifyFailed('Nothing was saved', error)
  return (
    <>
      <DataTable
        rows={clients}
        keyOf={({ name, kind }) => `${kind} ${name}`}
        empty={<Note size="sm">Every client was either a known crawler or looked like a person.</Note>}
        columns={[
          { title: 'Client', cell: (client) => <ClientName client={client} /> },
          { title: 'Kind', kind: 'labelled', cell: ({ kind }) => KINDS[kind] },
          { title: 'Visits', kind: 'number', cell: ({ visits }) => count(visits) },
          { title: 'Last seen', kind: 'labelled', cell: ({ last_seen_at: at }) => <TimeText at={at} /> },
          {
            title: 'Actions',
            kind: 'action',
            cell: (client) => (
              <Decisions
                client={client}
                isBusy={person.isPending}
                onCrawler={() => setAsked(client)}
                onPerson={() => person.mutate({ pattern: client.name, as: 'person' }, { onError })}
              />
            ),
          },
        ]}
      />
      {asked !== null && <CrawlerDialog domain={domain} client={asked} onClose={() => setAsked(null)} />}
    </>
  )
}

function ClientName({ client: { name, user_agent: userAgent } }: { client: UnrecognisedClient }) {
  return (
    <>
      <Text size="sm" fw={500} className="break">
        {name}
      </Text>
      {userAgent !== name && <Note className="break">{userAgent}</Note>}
    </>
  )
}

function Decisions(props: {
  client: UnrecognisedClient
  isBusy: boolean
  onCrawler: () => void
  onPerson: () => void
}) {
  const { client, isBusy, onCrawler, onPerson } = props
  return (
    <Group gap="xs" justify="end">
      <RowButton label="This is a crawler" subject={client.name} isOff={isBusy} onClick={onCrawler} />
      <RowButton label="This is a person" subject={client.name} isOff={isBusy} onClick={onPerson} />
    </Group>
  )
}

type Decision = { pattern: string; as: CrawlerCategory | 'person' }

/** Saves what clients of a pattern are. The lists are read first, because they are replaced as a whole. */
function useCrawlerDecision(domain: string) {
  const queries = useQueryClient()
  const save = async (crawlers: Settings['crawlers']) => {
    await request('PUT', domainUrl(domain), { body: { settings: { crawlers } } })
    await queries.invalidateQueries({ queryKey: ['domains', domain] })
  }
  return useMutation({
    mutationFn: async ({ pattern, as: kind }: Decision) => {
      const before = await readCrawlers(domain)
      await save(kind === 'person' ? withPerson(before, pattern) : withCrawler(before, pattern, kind))
      return before
    },
    onSuccess: (before, { pattern, as: kind }) => {
      const undo = () => void save(before).catch((error) => notifyFailed('Your decision stays', error))
      notifyDone(`${pattern} is ${kind === 'person' ? 'a person' : 'a crawler'} from now on`, undo)
    },
  })
}

async function readCrawlers(domain: string): Promise<Settings['crawlers']> {
  const answer = await request<{ domain: DomainWithSettings }>('GET', domainUrl(domain))
  return answer.domain.settings.crawlers
}

function CrawlerDialog(props: { domain: string; client: UnrecognisedClient; onClose: () => void }) {
  const { domain, client, onClose } = props
  const decide = useCrawlerDecision(domain)
  const form = useForm<{ pattern: string; category: CrawlerCategory }>({
    initialValues: { pattern: client.name, category: 'other' },
    validate: { pattern: patternProblem },
  })
  const submit = ({ pattern, category }: typeof form.values) =>
    decide.mutate({ pattern: pattern.trim(), as: category }, { onSuccess: onClose })
  return (
    <FormDialog
      title={`${client.name} is a crawler`}
      label="Save"
      sent={decide}
      onSubmit={form.onSubmit(submit)}
      onClose={onClose}
    >
      <Text size="sm">
        From its next visit it gets what crawlers of its category get. Unless you chose otherwise, these are
        rendered pages.
      </Text>
      <TextInput
        label="User agent contains"
        description="In any case of letters; * matches any characters"
        spellCheck={false}
        data-autofocus
        required
        {...form.getInputProps('pattern')}
      />
      <NativeSelect label="Category" data={CATEGORY_CHOICES} {...form.getInputProps('category')} />
    </FormDialog>
  )
}

/** The server's rule for patterns, while typing. */
function patternProblem(pattern: string): string | null {
  const crawlers = { remove: [pattern.trim()] }
  return problemsOf(domainSettingsPatchSchema, { crawlers })[0]?.message ?? null
}
