import { Alert, Stack, Text } from '@mantine/core'

import type { PageFacts } from '../../api/types.ts'
import { count, counted } from '../../format.ts'
import { DataTable } from '../../parts/data-table.tsx'
import { type FactRow, Facts, Note, Section } from '../../parts/page.tsx'
import { Empty } from '../../parts/states.tsx'
import type { ViewProps } from './inspection.tsx'
import { headFacts } from './page-facts.ts'

const LINKS_SHOWN = 200
const LINES_SHOWN = 500

export function PageFactsView({ page: { facts, stored } }: ViewProps) {
  if (facts === null) return <NotCached />
  const head = headFacts(facts).map(
    ({ label, texts }): FactRow => [label, <Texts key={label} texts={texts} />],
  )
  const headers: readonly FactRow[] = stored?.headers ?? []
  const text: FactRow = ['Text', `${count(facts.textChars)} characters`]
  return (
    <Stack gap="lg">
      {/noindex|none/i.test(facts.robots ?? '') && (
        <Alert color="yellow" title="The page is excluded from search">
          Its robots meta tag is “{facts.robots}”: search engines do not list it.
        </Alert>
      )}
      <Section title="Head">
        <Facts rows={[...head, text, ...headers]} />
      </Section>
      <Section title="Structured data">
        {facts.structured.length === 0 ? (
          <Note size="sm">None on this page.</Note>
        ) : (
          facts.structured.map((data, at) => <Structured key={`${at} ${data.kind}`} {...data} />)
        )}
      </Section>
      <Links facts={facts} />
      <Section title="Text" lead="One line for each block.">
        <pre className="code-block">{facts.text.slice(0, LINES_SHOWN).join('\n') || 'none'}</pre>
      </Section>
    </Stack>
  )
}

function Texts({ texts }: { texts: readonly string[] }) {
  if (texts.length === 0) return <span className="quiet">none</span>
  return texts.map((text, at) => <div key={`${at} ${text}`}>{text}</div>)
}

export function NotCached() {
  return (
    <div className="sheet">
      <Empty title="This page is not cached">
        It appears here after a crawler requests it or you refresh it. If it was rendered but not cached, the
        Renders tab says why.
      </Empty>
    </div>
  )
}

function Links({ facts: { links, linkCount } }: { facts: PageFacts }) {
  return (
    <Section
      title="Links"
      lead={`${counted(linkCount, 'link')} to ${counted(links.length, 'address', 'addresses')}`}
    >
      {links.length > 0 && (
        <DataTable
          rows={links.slice(0, LINKS_SHOWN)}
          keyOf={({ href }) => href}
          columns={[
            { title: 'Address', className: 'break', cell: ({ href }) => href },
            { title: 'Text', className: 'break', cell: ({ text }) => text },
          ]}
        />
      )}
      {links.length > LINKS_SHOWN && <Note size="sm">and {count(links.length - LINKS_SHOWN)} more</Note>}
    </Section>
  )
}

function Structured({ kind, types, json, isBroken }: PageFacts['structured'][number]) {
  return (
    <div>
      <Text size="sm" fw={500} mb={4}>
        {types.join(', ') || 'No type'} <span className="quiet">{kind}</span>
      </Text>
      {isBroken && <Alert color="red">This is not valid JSON: crawlers ignore it.</Alert>}
      {json !== '' && <pre className="code-block">{json}</pre>}
    </div>
  )
}
