import { Alert, Stack, Table, Text } from '@mantine/core'

import type { PageFacts } from '../../api/types.ts'
import { Section } from '../../parts/page.tsx'
import { Empty } from '../../parts/states.tsx'
import { count, counted } from '../../parts/usage-bar.tsx'
import type { LensPart } from './inspection.tsx'

/** Of a page with a thousand links. */
const LINKS_SHOWN = 200

/** What the stored page says, as a crawler reads it. */
export function LensFacts({ lens: { facts, stored } }: LensPart) {
  if (facts === null) return <NotStored />
  const values: [string, string | null][] = [
    ['Title', facts.title],
    ['Description', facts.description],
    ['Canonical', facts.canonical],
    ['Robots', facts.robots],
    ['Language', facts.lang],
    ['Headings', facts.headings.join('\n') || null],
    ['Text', `${count(facts.textChars)} characters`],
  ]
  return (
    <Stack gap="lg">
      {/noindex|none/i.test(facts.robots ?? '') && (
        <Alert color="yellow" title="The page asks not to be listed">
          Its robots meta says “{facts.robots}”: search engines leave it out.
        </Alert>
      )}
      <Section title="Head">
        <dl className="facts">
          {values.map(([name, value]) => (
            <div key={name} style={{ display: 'contents' }}>
              <dt>{name}</dt>
              <dd>{value === null ? <span className="quiet">none</span> : <Lines text={value} />}</dd>
            </div>
          ))}
          {stored?.headers.map(([name, value]) => (
            <div key={`${name} ${value}`} style={{ display: 'contents' }}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      </Section>
      <Section title="Structured data">
        {facts.structured.length === 0 ? (
          <Text size="sm" className="quiet">
            The page has none.
          </Text>
        ) : (
          facts.structured.map((each, at) => <Structured key={`${at} ${each.kind}`} {...each} />)
        )}
      </Section>
      <Section
        title="Links"
        lead={`${counted(facts.linkCount, 'link')} to ${facts.links.length === 1 ? '1 address' : `${count(facts.links.length)} addresses`}`}
      >
        {facts.links.length > 0 && (
          <div className="scroll-x">
            <Table verticalSpacing={4} fz="sm" className="stacking">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Address</Table.Th>
                  <Table.Th>Words</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {facts.links.slice(0, LINKS_SHOWN).map(({ href, text }) => (
                  <Table.Tr key={href}>
                    <Table.Td className="break">{href}</Table.Td>
                    <Table.Td className="break">{text}</Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </div>
        )}
        {facts.links.length > LINKS_SHOWN && (
          <Text size="sm" className="quiet">
            and {count(facts.links.length - LINKS_SHOWN)} more
          </Text>
        )}
      </Section>
      <Section title="Text" lead="As a reader finds it, a line for each block">
        <pre className="code-block">{facts.text.slice(0, 500).join('\n') || 'none'}</pre>
      </Section>
    </Stack>
  )
}

export function NotStored() {
  return (
    <div className="sheet">
      <Empty title="This page is not stored">
        It comes when a crawler asks for it, or when you refresh it. Its renders say why it was not kept.
      </Empty>
    </div>
  )
}

function Structured({ kind, types, json, isBroken }: PageFacts['structured'][number]) {
  return (
    <div>
      <Text size="sm" fw={500} mb={4}>
        {types.join(', ') || 'No type'} <span className="quiet">{kind}</span>
      </Text>
      {isBroken && <Alert color="red">This is no JSON: whoever reads structured data leaves it out.</Alert>}
      {json !== '' && <pre className="code-block">{json}</pre>}
    </div>
  )
}

function Lines({ text }: { text: string }) {
  const lines = text.split('\n')
  return lines.length === 1 ? text : lines.map((line, at) => <div key={`${at} ${line}`}>{line}</div>)
}
