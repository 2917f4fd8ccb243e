import { Alert, Button, Checkbox, Group, List, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { templatesQuery } from '../../api/portfolio-queries.ts'
import { domainQuery, domainsQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { useRights } from '../../api/rights.ts'
import type { PortfolioDomain, Template } from '../../api/types.ts'
import { counted } from '../../format.ts'
import { ConfirmDialog, Dialog, FormDialog } from '../../parts/dialog.tsx'
import { Words } from '../../parts/page.tsx'
import { Empty, Loaded, Refusal } from '../../parts/states.tsx'
import { settingChange } from '../settings/setting-fields.ts'
import { namesOf, report, type SendBulk } from './bulk-bar.tsx'

/** What a template may hold, as people choose it. */
const PARTS = [
  {
    name: 'Freshness',
    settings: [
      'fresh_seconds',
      'stale_seconds',
      'keep_seconds',
      'origin_cache_control',
      'refresh_on_deploy',
      'refresh_ahead_percent',
      'retry_seconds',
    ],
  },
  { name: 'Query parameters', settings: ['query'] },
  { name: 'Rules', settings: ['rules'] },
  { name: 'Who is a crawler', settings: ['crawlers'] },
  { name: 'Treatment by category', settings: ['categories'] },
  { name: 'Preferences for AI and search', settings: ['preferences'] },
  { name: 'Pages for phones', settings: ['devices'] },
  { name: 'Markdown', settings: ['markdown'] },
  { name: 'Cards', settings: ['cards'] },
  { name: 'Soft 404', settings: ['soft_404'] },
  { name: 'Rendering', settings: ['render'] },
] as const

type PartName = (typeof PARTS)[number]['name']

const FIRST_PARTS: readonly PartName[] = ['Freshness', 'Query parameters', 'Rules']

/** The parts that these settings belong to, in words. */
function partsOf(settings: readonly string[]): string {
  return PARTS.filter((part) => part.settings.some((setting) => settings.includes(setting)))
    .map(({ name }) => name)
    .join(', ')
}

/** The list of templates, and a form that makes one from the settings of a site. */
export default function Templates({ onClose }: { onClose: () => void }) {
  const templates = useQuery(templatesQuery)
  const queries = useQueryClient()
  const may = useRights()
  const [deleted, setDeleted] = useState<Template | null>(null)
  const [isMaking, setMaking] = useState(false)
  if (isMaking) return <MakeTemplate first={null} onClose={() => setMaking(false)} />
  if (deleted !== null) {
    return (
      <ConfirmDialog
        title={`Delete the template ${deleted.name}?`}
        label="Delete the template"
        run={async () => {
          await request('DELETE', `/api/templates/${deleted.id}`)
          await queries.invalidateQueries({ queryKey: templatesQuery.queryKey })
        }}
        onClose={() => setDeleted(null)}
      >
        Sites that got its settings keep them.
      </ConfirmDialog>
    )
  }
  return (
    <Dialog title="Templates of settings" onClose={onClose}>
      <Stack>
        <Text size="sm">
          A template is a copy of settings. Select sites in the list and choose “Template” to copy it to them.
          A later change of the template changes no site.
        </Text>
        <Loaded query={templates} rows={2}>
          {(list) =>
            list.length === 0 ? (
              <Empty title="No template yet">Make one from a site whose settings are right.</Empty>
            ) : (
              <Stack gap="xs">
                {list.map((template) => (
                  <Group key={template.id} justify="space-between" wrap="nowrap">
                    <div>
                      <Text size="sm" fw={600} className="break">
                        {template.name}
                      </Text>
                      <Text size="xs" className="quiet">
                        {partsOf(Object.keys(template.settings))}
                      </Text>
                    </div>
                    {may('deleteTemplate') && (
                      <Button
                        size="compact-sm"
                        variant="default"
                        aria-label={`Delete ${template.name}`}
                        onClick={() => setDeleted(template)}
                      >
                        Delete
                      </Button>
                    )}
                  </Group>
                ))}
              </Stack>
            )
          }
        </Loaded>
        <Group justify="end">
          {may('createTemplate') && (
            <Button onClick={() => setMaking(true)} data-autofocus>
              Make a template
            </Button>
          )}
        </Group>
      </Stack>
    </Dialog>
  )
}

/** Of more sites, a part of the name finds one. */
const MANY_SITES = 10

/** Offers all sites, whatever the list shows. `first`: the one that is chosen at first. */
function MakeTemplate({ first, onClose }: { first: string | null; onClose: () => void }) {
  const queries = useQueryClient()
  const domains = useQuery(domainsQuery)
  const names = domains.data?.map(({ custom_domain: each }) => each).toSorted() ?? []
  const [chosen, setSite] = useState(first)
  const site = chosen ?? names[0] ?? ''
  const [search, setSearch] = useState('')
  const sought = search.trim().toLowerCase()
  const found = names.filter((each) => each.includes(sought))
  const [name, setName] = useState('')
  const [parts, setParts] = useState<readonly PartName[]>(FIRST_PARTS)
  const make = useMutation({
    mutationFn: async () => {
      const { settings } = await queries.fetchQuery(domainQuery(site))
      const chosen = PARTS.filter((part) => parts.includes(part.name)).flatMap((part) => [...part.settings])
      const body = {
        name,
        settings: Object.fromEntries(chosen.map((setting) => [setting, settings[setting]])),
      }
      await request('POST', '/api/templates', { body })
      await queries.invalidateQueries({ queryKey: templatesQuery.queryKey })
    },
    onSuccess: onClose,
  })
  return (
    <FormDialog
      title="Make a template"
      label="Make the template"
      isOff={site === ''}
      sent={make}
      onSubmit={() => make.mutate()}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        autoComplete="off"
        data-autofocus
      />
      {names.length > MANY_SITES && (
        <TextInput
          type="search"
          label="Find a site"
          autoComplete="off"
          spellCheck={false}
          value={search}
          error={found.length === 0 && 'No site has this in its name.'}
          onChange={(event) => {
            const text = event.currentTarget.value
            setSearch(text)
            const first = names.find((each) => each.includes(text.trim().toLowerCase()))
            if (first !== undefined && !site.includes(text.trim().toLowerCase())) setSite(first)
          }}
        />
      )}
      <NativeSelect
        label="Settings of"
        data={found.length === 0 ? [site] : found}
        value={site}
        onChange={(event) => setSite(event.currentTarget.value)}
      />
      <Checkbox.Group
        label="Which settings"
        value={[...parts]}
        onChange={(values) =>
          setParts(PARTS.map((part) => part.name).filter((part) => values.includes(part)))
        }
      >
        <div className="columns columns-narrow">
          {PARTS.map((part) => (
            <Checkbox key={part.name} value={part.name} label={part.name} />
          ))}
        </div>
      </Checkbox.Group>
    </FormDialog>
  )
}

type Preview = { domain: string; changes: { setting: string; before: unknown; after: unknown }[] }

/** Shows what a template would change before it is applied. */
export function ApplyTemplate(props: {
  sites: readonly PortfolioDomain[]
  onClose: () => void
  send: SendBulk
}) {
  const { sites, onClose, send } = props
  const templates = useQuery(templatesQuery)
  const [id, setId] = useState('')
  const [isMaking, setMaking] = useState(false)
  const may = useRights()
  const preview = useQuery({
    queryKey: ['template-preview', id, namesOf(sites)],
    queryFn: () =>
      request<{ domains: Preview[] }>('POST', `/api/templates/${id}/preview`, {
        body: { domains: namesOf(sites) },
      }),
    enabled: id !== '',
    staleTime: 0,
  })
  const changed = preview.data?.domains.filter(({ changes }) => changes.length > 0) ?? []
  const apply = useMutation({
    mutationFn: () =>
      report(
        () =>
          send({ action: 'template', domains: changed.map(({ domain }) => domain), template_id: Number(id) }),
        `${counted(changed.length, 'site')} changed`,
      ),
    onSuccess: onClose,
  })
  const list = templates.data ?? []
  if (isMaking) return <MakeTemplate first={namesOf(sites)[0] ?? null} onClose={() => setMaking(false)} />
  const chosen = list.find((each) => `${each.id}` === id)
  if (templates.data !== undefined && list.length === 0) {
    return (
      <Dialog title="No template yet" onClose={onClose}>
        <Stack>
          <Text size="sm">
            A template is a copy of the settings of a site. Make one, then copy it to others.
          </Text>
          {may('createTemplate') && (
            <Group justify="end">
              <Button onClick={() => setMaking(true)} data-autofocus>
                Make a template
              </Button>
            </Group>
          )}
        </Stack>
      </Dialog>
    )
  }
  const choice = (
    <NativeSelect
      label="Template"
      description={
        chosen === undefined ? undefined : `Its settings: ${partsOf(Object.keys(chosen.settings))}`
      }
      value={id}
      onChange={(event) => setId(event.currentTarget.value)}
      data={[
        { value: '', label: 'Choose a template' },
        ...list.map((each) => ({ value: `${each.id}`, label: each.name })),
      ]}
      data-autofocus
    />
  )
  return (
    <FormDialog
      title={`Copy a template to ${counted(sites.length, 'site')}`}
      label={applyLabel(changed.length)}
      isOff={changed.length === 0}
      sent={apply}
      onSubmit={() => {
        if (changed.length > 0) apply.mutate()
      }}
      onClose={onClose}
    >
      {choice}
      <Refusal error={preview.error} />
      {preview.data !== undefined && <PreviewText all={preview.data.domains} changed={changed} />}
    </FormDialog>
  )
}

function applyLabel(changed: number): string {
  return changed === 0 ? 'Change the sites' : `Change ${counted(changed, 'site')}`
}

const SHOWN = 5

function PreviewText({ all, changed }: { all: readonly Preview[]; changed: readonly Preview[] }) {
  if (changed.length === 0) {
    return (
      <Alert color="paint" p="sm" role="status">
        All of these sites have these settings already.
      </Alert>
    )
  }
  const same = all.length - changed.length
  return (
    <Stack gap={4} role="status">
      <Text size="sm">
        {counted(changed.length, 'site')} {changed.length === 1 ? 'changes' : 'change'}
        {same > 0 && `, ${counted(same, 'site')} ${same === 1 ? 'has' : 'have'} these settings already`}.
      </Text>
      <List size="sm">
        {changed.slice(0, SHOWN).map(({ domain, changes }) => (
          <List.Item key={domain} className="break">
            <Words text={domain} />:{' '}
            {changes.map(({ setting, before, after }) => settingChange(setting, before, after)).join(' · ')}
          </List.Item>
        ))}
      </List>
      {changed.length > SHOWN && (
        <Text size="sm" className="quiet">
          and {counted(changed.length - SHOWN, 'other site')}
        </Text>
      )}
    </Stack>
  )
}
