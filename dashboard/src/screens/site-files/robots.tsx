import { Alert, Badge, Group, NativeSelect, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { judgeCrawler, shutOut } from '@prepaint/contract/site-files/judge-crawler.ts'
import { beginsGroup, servedRobots } from '@prepaint/contract/site-files/robots-text.ts'
import { useQuery } from '@tanstack/react-query'
import { useDeferredValue, useMemo, useState } from 'react'
import { robotsQuery } from '../../api/site-file-queries.ts'
import type { DomainWithSettings, Settings, Robots as StoredRobots } from '../../api/types.ts'
import { EditForm } from '../../parts/edit-form.tsx'
import { Lines } from '../../parts/lines.tsx'
import { Note, Section } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { textDifference } from '../page/differences.ts'
import { SEARCH_CRAWLERS, useAskedSave } from './forbidden.tsx'
import { misspeltFields } from './misspelt-fields.ts'
import { Versions } from './versions.tsx'

const MODES: { value: StoredRobots['mode']; label: string }[] = [
  { value: 'origin', label: 'The file of your server, as it is' },
  { value: 'append', label: 'The file of your server, then your text' },
  { value: 'replace', label: 'Only your text' },
]

export function Robots({ domain }: { domain: DomainWithSettings }) {
  const robots = useQuery(robotsQuery(domain.custom_domain))
  return (
    <Loaded query={robots} rows={10}>
      {(stored) => <RobotsEditor domain={domain} stored={stored} />}
    </Loaded>
  )
}

type Edited = { mode: StoredRobots['mode']; text: string }

/** What would be served with `robots`, or null if that needs the file of an origin that cannot be reached. */
function servedWith(
  domain: DomainWithSettings,
  stored: StoredRobots,
  robots: Settings['robots'],
): string | null {
  const origin = robots.mode === 'replace' ? '' : stored.origin
  if (origin === null) return null
  return servedRobots({ name: domain.custom_domain, files: { ...domain.settings, robots } }, origin)
}

/** The owner's own text, as far as it is known to be served whatever the origin says. */
function ownText({ mode, text = '' }: Settings['robots']): string {
  return mode === 'append' ? text : ''
}

function RobotsEditor({ domain, stored }: { domain: DomainWithSettings; stored: StoredRobots }) {
  const name = domain.custom_domain
  /** While this is null, nothing was edited, and what is stored is shown. */
  const [edited, setEdited] = useState<Edited | null>(null)
  const { mode, text } = edited ?? stored
  const isDirty = mode !== stored.mode || text !== stored.text
  const isValid = mode !== 'append' || beginsGroup(text)
  const forbiddenBy = (robots: Settings['robots']) =>
    shutOut(servedWith(domain, stored, robots) ?? ownText(robots), SEARCH_CRAWLERS)
  /** Is undefined while the edits are not valid. */
  const wouldServe = () => {
    if (!isDirty) return stored.served
    return isValid ? servedWith(domain, stored, { mode, text }) : undefined
  }
  const would = useDeferredValue(wouldServe())
  const { save, question } = useAskedSave(name, {
    said: 'Saved. The new robots.txt is served.',
    onSaved: () => setEdited(null),
  })
  const submit = () => {
    const robots = { mode, text }
    save.mutate({ settings: { robots }, crawlers: isValid ? forbiddenBy(robots) : [] })
  }
  return (
    <Stack gap="lg">
      <EditForm isDirty={isDirty} sent={save} onSubmit={submit} onUndo={() => setEdited(null)}>
        <Section title="robots.txt" lead="Served to every client, blocked crawlers included.">
          <NativeSelect
            className="form"
            label="Mode"
            value={mode}
            data={MODES}
            onChange={(event) => setEdited({ mode: event.currentTarget.value as Edited['mode'], text })}
          />
          {mode !== 'origin' && (
            <Textarea
              label="Text"
              autosize
              minRows={6}
              maxRows={24}
              spellCheck={false}
              classNames={{ input: 'monospace' }}
              value={text}
              error={!isValid && 'text must begin with a User-agent or Sitemap line'}
              onChange={(event) => setEdited({ mode, text: event.currentTarget.value })}
            />
          )}
          {mode !== 'origin' && <Misspelt text={text} />}
          <Difference served={stored.served} would={would} />
        </Section>
      </EditForm>
      <Test text={would} />
      <Versions domain={name} kind="robots" forbids={forbiddenBy} />
      {question}
    </Stack>
  )
}

/** A misspelt line is saved all the same: some crawlers may know a field that we do not. */
function Misspelt({ text }: { text: string }) {
  const found = misspeltFields(text)
  if (found.length === 0) return null
  return (
    <Alert color="yellow" role="status" title="Crawlers ignore lines with an unknown field">
      {found.map(({ line, written, meant }) => (
        <Text key={line} size="sm">
          Line {line}: “{written}” is no field of robots.txt. Did you mean “{meant}”?
        </Text>
      ))}
    </Alert>
  )
}

const LINES_SHOWN = 200

/** `would` is undefined while the edits are not valid, and null if the origin cannot be reached. */
function Difference({ served, would }: { served: string | null; would: string | null | undefined }) {
  if (would === undefined) return null
  if (would === null || served === null) {
    return <Alert color="yellow">Your server cannot be reached: nothing to compare with.</Alert>
  }
  return (
    <>
      <ServedDifference served={served} would={would} />
      <Text component="details" size="sm">
        <summary>{served === would ? 'Show the file' : 'Show the file as it would be served'}</summary>
        <pre className="code-block">{would}</pre>
      </Text>
    </>
  )
}

function ServedDifference({ served, would }: { served: string; would: string }) {
  const stretches = useMemo(() => textDifference(served.split('\n'), would.split('\n')), [served, would])
  if (served === would) return <Note size="sm">No difference from the file that is served now.</Note>
  if (stretches === null) return <Alert color="yellow">Almost no line is as it is served now.</Alert>
  return (
    <div>
      <Text size="sm" fw={500} mb={4}>
        Difference from what is served now
      </Text>
      <Lines
        names={['Now', 'After saving']}
        stretches={stretches.map((stretch) => ({ ...stretch, lines: stretch.lines.slice(0, LINES_SHOWN) }))}
      />
    </div>
  )
}

/** Judges `text`, which need not be saved. It is null if the origin cannot be reached, and undefined if it is not valid. */
function Test({ text }: { text: string | null | undefined }) {
  const [{ path, crawler }, setAsked] = useState({ path: '/', crawler: 'Googlebot' })
  const isPath = path.startsWith('/')
  const verdict = useMemo(
    () => (text == null || crawler.trim() === '' || !isPath ? null : judgeCrawler(text, crawler, path)),
    [text, crawler, path, isPath],
  )
  return (
    <Section title="Test a path" lead="By the file as it would be served with the edits above.">
      <div className="columns">
        <TextInput
          label="Path"
          spellCheck={false}
          value={path}
          error={!isPath && 'path must start with /'}
          onChange={(event) => setAsked({ path: event.currentTarget.value, crawler })}
        />
        <TextInput
          label="Crawler"
          description="A token such as Googlebot, or a whole user agent"
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          spellCheck={false}
          value={crawler}
          onChange={(event) => setAsked({ path, crawler: event.currentTarget.value })}
        />
      </div>
      <Group gap="xs" role="status" mih={28}>
        {text === null && <Note size="sm">Your server cannot be reached: nothing to judge by.</Note>}
        {verdict !== null && (
          <>
            <Badge color={verdict.allowed ? 'paint' : 'red'}>
              {verdict.allowed ? 'Allowed' : 'Forbidden'}
            </Badge>
            <Text size="sm" className="break">
              {verdict.line === null ? 'no rule matches' : `line ${verdict.line}: ${verdict.rule?.trim()}`}
            </Text>
          </>
        )}
      </Group>
    </Section>
  )
}
