import { Alert, Badge, Group, NativeSelect, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { messageOf } from '../../api/request.ts'
import {
  robotsPreviewQuery,
  robotsQuery,
  robotsTestQuery,
  useSaveSettings,
} from '../../api/site-file-queries.ts'
import type { DomainWithSettings, Robots as StoredRobots } from '../../api/types.ts'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { EditForm } from '../../parts/edit-form.tsx'
import { Lines } from '../../parts/lines.tsx'
import { notifyDone } from '../../parts/notifications.tsx'
import { Note, Section } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { textDifference } from '../page/differences.ts'
import { ForbidsSite } from './forbidden.tsx'
import { Versions } from './versions.tsx'

const TYPING_MS = 300

const MODES = [
  { value: 'origin', label: 'origin: the file of your server, as it is' },
  { value: 'append', label: 'append: the file of your server, then your text' },
  { value: 'replace', label: 'replace: only your text' },
]

export function Robots({ domain: { custom_domain: name } }: { domain: DomainWithSettings }) {
  const robots = useQuery(robotsQuery(name))
  return (
    <Stack gap="lg">
      <Loaded query={robots} rows={10}>
        {(stored) => <RobotsEditor name={name} stored={stored} />}
      </Loaded>
      <Versions domain={name} kind="robots" />
    </Stack>
  )
}

function RobotsEditor({ name, stored }: { name: string; stored: StoredRobots }) {
  const queries = useQueryClient()
  const saveSettings = useSaveSettings(name)
  /** null: nothing was edited; what is stored is shown. */
  const [edited, setEdited] = useState<Pick<StoredRobots, 'mode' | 'text'> | null>(null)
  const [editedNow] = useDebouncedValue(edited, TYPING_MS)
  const [forbids, setForbids] = useState<string[]>([])
  const { mode, text } = edited ?? stored
  const isDirty = mode !== stored.mode || text !== stored.text
  const now = editedNow ?? stored
  const preview = useQuery({
    ...robotsPreviewQuery(name, { mode: now.mode, text: now.text }),
    enabled: isDirty,
  })
  const previewed = preview.error === null ? preview.data?.text : undefined
  const would = isDirty ? previewed : stored.served
  const store = async () => {
    await saveSettings({ robots: { mode, text } })
    setEdited(null)
    notifyDone('Saved. The new robots.txt is served.')
  }
  const save = useMutation({
    mutationFn: async () => {
      const found = await queries.fetchQuery(robotsPreviewQuery(name, { mode, text }))
      if (found.forbids.length === 0) await store()
      else setForbids(found.forbids)
    },
  })
  return (
    <>
      <EditForm
        isDirty={isDirty}
        sent={preview.error === null ? save : { ...save, error: null }}
        onSubmit={() => save.mutate()}
        onUndo={() => setEdited(null)}
      >
        <Section title="robots.txt" lead="Served to every client, blocked crawlers included.">
          <NativeSelect
            className="form"
            label="Mode"
            value={mode}
            data={MODES}
            onChange={(event) => setEdited({ mode: event.currentTarget.value as StoredRobots['mode'], text })}
          />
          {mode !== 'origin' && (
            <Textarea
              label="Text"
              autosize
              minRows={6}
              maxRows={24}
              spellCheck={false}
              ff="monospace"
              value={text}
              error={isDirty && preview.error && messageOf(preview.error)}
              onChange={(event) => setEdited({ mode, text: event.currentTarget.value })}
            />
          )}
          <Difference served={stored.served} would={would} />
        </Section>
      </EditForm>
      <Test name={name} text={would} />
      {forbids.length > 0 && (
        <ConfirmDialog
          title="Forbid the whole site?"
          label="Save anyway"
          run={store}
          onClose={() => setForbids([])}
        >
          <ForbidsSite crawlers={forbids} />
        </ConfirmDialog>
      )}
    </>
  )
}

const LINES_SHOWN = 200

function Difference({ served, would }: { served: string | null; would: string | null | undefined }) {
  const stretches = useMemo(
    () => (served == null || would == null ? null : textDifference(served.split('\n'), would.split('\n'))),
    [served, would],
  )
  if (would === undefined) return null
  if (would === null || served === null) {
    return <Alert color="yellow">Your server cannot be reached: nothing to compare with.</Alert>
  }
  return (
    <>
      {served === would ? (
        <Note size="sm">No difference from the file that is served now.</Note>
      ) : stretches === null ? (
        <Alert color="yellow">Almost no line is as it is served now.</Alert>
      ) : (
        <div>
          <Text size="sm" fw={500} mb={4}>
            Difference from what is served now
          </Text>
          <Lines
            names={['Now', 'After saving']}
            stretches={stretches.map((each) => ({ ...each, lines: each.lines.slice(0, LINES_SHOWN) }))}
          />
        </div>
      )}
      <Text component="details" size="sm">
        <summary>{served === would ? 'Show the file' : 'Show the file as it would be served'}</summary>
        <pre className="code-block">{would}</pre>
      </Text>
    </>
  )
}

/** Judges `text`, which is not saved yet. null: the origin cannot be reached; undefined: not known. */
function Test({ name, text }: { name: string; text: string | null | undefined }) {
  const [asked, setAsked] = useState({ path: '/', crawler: 'Googlebot' })
  const [now] = useDebouncedValue(asked, TYPING_MS)
  const verdict = useQuery({
    ...robotsTestQuery(name, { ...now, text: text ?? '' }),
    enabled: text != null && now.crawler !== '',
  })
  const { data, error } = verdict
  return (
    <Section title="Test a path" lead="By the file as it would be served with the edits above.">
      <div className="columns">
        <TextInput
          label="Path"
          spellCheck={false}
          value={asked.path}
          error={error && messageOf(error)}
          onChange={(event) => setAsked({ ...asked, path: event.currentTarget.value })}
        />
        <TextInput
          label="Crawler"
          description="A token such as Googlebot, or a whole user agent"
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          spellCheck={false}
          value={asked.crawler}
          onChange={(event) => setAsked({ ...asked, crawler: event.currentTarget.value })}
        />
      </div>
      <Group gap="xs" role="status" mih={28}>
        {text === null && <Note size="sm">Your server cannot be reached: nothing to judge by.</Note>}
        {text != null && data !== undefined && error === null && (
          <>
            <Badge color={data.allowed ? 'paint' : 'red'}>{data.allowed ? 'Allowed' : 'Forbidden'}</Badge>
            <Text size="sm" className="break">
              {data.line === null ? 'no rule matches' : `line ${data.line}: ${data.rule?.trim()}`}
            </Text>
          </>
        )}
      </Group>
    </Section>
  )
}
