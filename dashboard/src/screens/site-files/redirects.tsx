import { Badge, Button, FileButton, Group, Stack, Textarea, TextInput } from '@mantine/core'
import { redirectsCsv } from '@prepaint/contract/site-files/redirect-csv.ts'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useDeferredValue, useMemo, useState } from 'react'
import { isRefusal } from '../../api/api-error.ts'
import { request } from '../../api/request.ts'
import { redirectsQuery, redirectsUrl } from '../../api/site-file-queries.ts'
import type { DomainWithSettings, Redirect } from '../../api/types.ts'
import { count, counted } from '../../format.ts'
import { CsvButton, DataTable } from '../../parts/data-table.tsx'
import { EditForm } from '../../parts/edit-form.tsx'
import { notifyDone } from '../../parts/notifications.tsx'
import { Note, Section } from '../../parts/page.tsx'
import { Loaded, NothingFound } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { Versions } from './versions.tsx'

export function Redirects({ domain: { custom_domain: name } }: { domain: DomainWithSettings }) {
  const list = useQuery(redirectsQuery(name))
  return (
    <Stack gap="lg">
      <Loaded query={list}>
        {({ answer: { redirects }, etag }) => (
          <>
            <RedirectEditor name={name} redirects={redirects} etag={etag} />
            <RedirectTable redirects={redirects} />
          </>
        )}
      </Loaded>
      <Versions domain={name} kind="redirects" />
    </Stack>
  )
}

/** The list as CSV, which a file can replace. Nothing is saved if a line is refused. */
function RedirectEditor(props: { name: string; redirects: readonly Redirect[]; etag: string }) {
  const { name, redirects, etag } = props
  const queries = useQueryClient()
  const stored = useMemo(() => redirectsCsv(redirects), [redirects])
  /** While this is null, nothing was edited, and what is stored is shown. `etag` is that of the list before the edit. */
  const [edited, setEdited] = useState<{ csv: string; etag: string } | null>(null)
  const edit = (csv: string) => setEdited({ csv, etag: edited?.etag ?? etag })
  const reload = () => queries.invalidateQueries({ queryKey: ['domains', name] })
  const save = useMutation({
    mutationFn: async ({ csv, etag: ifMatch }: { csv: string; etag: string }) => {
      await request('PUT', redirectsUrl(name), { csv, ifMatch })
      await reload()
    },
    onSuccess: () => {
      setEdited(null)
      notifyDone('Saved. The redirects are in force.')
    },
    onError: (error) => {
      if (isRefusal(error, 'changed_meanwhile')) void reload()
    },
  })
  const isOutdated = isRefusal(save.error, 'changed_meanwhile')
  return (
    <EditForm
      isDirty={edited !== null}
      sent={save}
      onSubmit={() => edited !== null && save.mutate(edited)}
      onUndo={() => {
        setEdited(null)
        save.reset()
      }}
    >
      <Section
        title="Redirects"
        lead="For people and crawlers, before anything else. At most 10,000."
        actions={
          <Group gap="xs">
            <FileButton
              accept=".csv,text/csv"
              onChange={async (file) => file !== null && edit(await file.text())}
            >
              {(button) => (
                <Button size="xs" variant="default" {...button}>
                  Import CSV
                </Button>
              )}
            </FileButton>
            <CsvButton href={`${redirectsUrl(name)}?format=csv`} label="Export CSV">
              Export CSV
            </CsvButton>
          </Group>
        }
      >
        <Textarea
          label="List"
          description="A redirect a line: from,to,status. An empty status is 301; 410 (gone) has no to. A * at the end of from matches any further characters, and stands for them in to."
          placeholder="/old,/new,301"
          autosize
          minRows={4}
          maxRows={24}
          spellCheck={false}
          classNames={{ input: 'monospace' }}
          value={edited?.csv ?? stored}
          error={isOutdated && 'The list was changed meanwhile. Undo your changes to see it.'}
          onChange={(event) => edit(event.currentTarget.value)}
        />
      </Section>
    </EditForm>
  )
}

const ROWS = 100

function RedirectTable({ redirects }: { redirects: readonly Redirect[] }) {
  const [search, setSearch] = useState('')
  const sought = useDeferredValue(search.trim().toLowerCase())
  const found = redirects.filter(({ from, to }) => `${from}\n${to}`.toLowerCase().includes(sought))
  if (redirects.length === 0) return null
  return (
    <Section title="Uses">
      <TextInput
        label="Search"
        type="search"
        className="form"
        placeholder="Part of an address"
        value={search}
        onChange={(event) => setSearch(event.currentTarget.value)}
      />
      <DataTable
        rows={found.slice(0, ROWS)}
        empty={
          <NothingFound
            title={`No redirect contains “${search.trim()}”`}
            all="Show all redirects"
            onClear={() => setSearch('')}
          />
        }
        keyOf={({ from }) => from}
        columns={[
          {
            title: 'From',
            className: 'break',
            cell: ({ from, shadows_page: hides }) => (
              <>
                {from}
                {hides && <Note className="warning">A stored page exists at this path</Note>}
              </>
            ),
          },
          {
            title: 'To',
            kind: 'labelled',
            className: 'break',
            cell: ({ to, external }) => (
              <>
                {to ?? <span className="quiet">gone</span>}{' '}
                {external && <Badge color="gray">Another host</Badge>}
              </>
            ),
          },
          { title: 'Status', kind: 'labelled', cell: ({ status }) => status },
          { title: 'Hits', kind: 'number', cell: ({ hits }) => count(hits) },
          { title: 'Last used', kind: 'labelled', cell: ({ last_used_at: at }) => <TimeText at={at} /> },
        ]}
      />
      <Note size="sm" role="status">
        {found.length > ROWS ? `The first ${ROWS} of ` : ''}
        {counted(found.length, 'redirect')}
      </Note>
    </Section>
  )
}
