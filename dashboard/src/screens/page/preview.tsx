import { List, Stack, Text } from '@mantine/core'
import { useState } from 'react'

import { domainUrl } from '../../api/queries.ts'
import { Facts, Note, Section } from '../../parts/page.tsx'
import { NotCached } from './facts.tsx'
import classes from './inspection.module.css'
import type { ViewProps } from './inspection.tsx'
import { type LinkPreview, linkPreview } from './link-preview.ts'

export function Preview({ domain, page: { path, facts, inspection } }: ViewProps) {
  if (facts === null) return <NotCached />
  const preview = linkPreview(facts, domain.custom_domain, path)
  const social = Object.entries(facts.social)
  return (
    <Section
      title="Link preview"
      lead="Roughly how social networks and messengers show a link to this page. They do not run scripts."
    >
      <Stack gap="md">
        <Card
          preview={preview}
          // From the inspection: the browser loads nothing from third parties.
          image={
            inspection?.state === 'done'
              ? `${domainUrl(domain.custom_domain)}/inspections/${inspection.id}/card`
              : null
          }
        />
        {preview.remarks.length > 0 && (
          <List size="sm" spacing={4}>
            {preview.remarks.map((remark) => (
              <List.Item key={remark}>{remark}</List.Item>
            ))}
          </List>
        )}
        {social.length > 0 && <Facts rows={social} />}
      </Stack>
    </Section>
  )
}

function Card({ preview, image }: { preview: LinkPreview; image: string | null }) {
  const [isMissing, setMissing] = useState(false)
  return (
    <div className={preview.isLarge ? classes.card : `${classes.card} ${classes.small}`}>
      {preview.image !== null && (
        <div className={classes.cardPicture}>
          {image === null || isMissing ? (
            <Note className="break">
              {image === null
                ? 'To see the image, inspect the page (tab “Crawlers and people”): '
                : 'The image could not be loaded, or has changed: '}
              {preview.image.slice(0, 200)}
            </Note>
          ) : (
            <img src={image} alt="As shown on the card" onError={() => setMissing(true)} />
          )}
        </div>
      )}
      <div className={classes.cardWords}>
        <Note>{preview.site}</Note>
        <Text fw={600} className="break">
          {preview.title}
        </Text>
        {preview.description !== null && (
          <Note size="sm" className="break">
            {preview.description}
          </Note>
        )}
      </div>
    </div>
  )
}
