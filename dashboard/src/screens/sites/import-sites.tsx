import { Button, Checkbox, FileButton, Group, Stack, Text, Textarea } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { request } from '../../api/request.ts'
import type { ImportLine } from '../../api/types.ts'
import { counted } from '../../format.ts'
import { DataTable } from '../../parts/data-table.tsx'
import { FormDialog } from '../../parts/dialog.tsx'
import { notifyDone } from '../../parts/notifications.tsx'

const EXAMPLE = 'custom_domain,origin_url,tags\nwww.example.com,https://shop.hosting.example,Client A'

type Sent = { csv: string; isDryRun: boolean; isPartial: boolean }

const send = ({ csv, isDryRun, isPartial }: Sent) => {
  const query = new URLSearchParams({ dry_run: `${isDryRun}`, partial: `${isPartial}` })
  return request<{ lines: ImportLine[] }>('POST', `/api/domains/import?${query}`, { csv })
}

/** First says what each line would do; then adds the sites. */
export default function ImportSites({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient()
  const [csv, setCsv] = useState('')
  const [isPartial, setPartial] = useState(false)
  const check = useMutation({ mutationFn: () => send({ csv, isDryRun: true, isPartial: false }) })
  const add = useMutation({
    mutationFn: () => send({ csv, isDryRun: false, isPartial }),
    onSuccess: async ({ lines }) => {
      const added = lines.filter(({ state }) => state === 'added').length
      // A name was registered meanwhile: the lines say which.
      if (added === 0) return
      await queries.invalidateQueries()
      notifyDone(`${counted(added, 'site')} added`)
      onClose()
    },
  })
  const change = (text: string) => {
    setCsv(text)
    check.reset()
    add.reset()
  }
  const lines = add.data?.lines ?? check.data?.lines
  const good = lines?.filter(({ state }) => state !== 'error').length ?? 0
  const bad = lines?.filter(({ state }) => state === 'error') ?? []
  const mayAdd = lines !== undefined && good > 0 && (bad.length === 0 || isPartial)
  return (
    <FormDialog
      title="Import sites"
      label={lines === undefined ? 'Check the file' : `Add ${counted(good, 'site')}`}
      sent={{ isPending: check.isPending || add.isPending, error: check.error ?? add.error, reset: () => {} }}
      onSubmit={() => {
        if (lines === undefined) check.mutate()
        else if (mayAdd) add.mutate()
      }}
      onClose={onClose}
    >
      <Group justify="space-between" align="end">
        <Text size="sm" flex={1} miw={220}>
          A line for each site. Optional columns: tags (with ; between), way (dns or middleware), template. An
          export of prerender.io is taken as it is.
        </Text>
        <FileButton accept="text/csv,.csv,text/plain" onChange={(file) => void file?.text().then(change)}>
          {(props) => (
            <Button {...props} variant="default" size="xs">
              Choose a file
            </Button>
          )}
        </FileButton>
      </Group>
      <Textarea
        label="CSV"
        placeholder={EXAMPLE}
        value={csv}
        onChange={(event) => change(event.currentTarget.value)}
        minRows={6}
        maxRows={12}
        rows={8}
        spellCheck={false}
        classNames={{ input: 'monospace' }}
        data-autofocus
      />
      {lines !== undefined && (
        <Stack gap="xs" role="status">
          <Text size="sm" fw={600}>
            {counted(good, 'site')} can be added
            {bad.length > 0 &&
              `, ${counted(bad.length, 'line')} ${bad.length === 1 ? 'has' : 'have'} an error`}
            .
          </Text>
          {bad.length > 0 && (
            <>
              <DataTable
                look="compact"
                rows={bad.slice(0, 100)}
                keyOf={({ line }) => line}
                columns={[
                  { title: 'Line', cell: ({ line }) => line },
                  { title: 'Site', className: 'site-name', cell: ({ custom_domain: name }) => name ?? '–' },
                  { title: 'Error', cell: ({ error }) => error },
                ]}
              />
              {good > 0 && (
                <Checkbox
                  label="Add the others anyway"
                  checked={isPartial}
                  onChange={(event) => setPartial(event.currentTarget.checked)}
                />
              )}
            </>
          )}
        </Stack>
      )}
    </FormDialog>
  )
}
