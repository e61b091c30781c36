import { useTranslation } from "react-i18next";
import { Bar, BarChart, LabelList, ResponsiveContainer, XAxis, YAxis } from "recharts";
import { useWords } from "../../i18n/use_words.ts";
import type { Funnel } from "./postings.ts";

const ROW_PX = 44;
const NAME_PX = 112;

/** How many applications got at least so far, as bars; the list below says the same in words. */
export function FunnelChart({ funnel }: { funnel: Funnel }) {
  const { t } = useTranslation("job");
  const words = useWords();
  const bars = funnel.stages.map((stage) => ({
    ...stage,
    name: words.value("status", stage.stage),
  }));
  const ends = Object.entries(funnel.ended)
    .map(([end, stages]) => [end, Object.values(stages).reduce((a, b) => a + b, 0)] as const)
    .filter(([, count]) => count > 0);
  return (
    <div className="funnel">
      <div aria-hidden="true">
        <ResponsiveContainer width="100%" height={bars.length * ROW_PX}>
          <BarChart data={bars} layout="vertical" margin={{ right: 40 }} accessibilityLayer={false}>
            <XAxis type="number" hide domain={[0, "dataMax"]} />
            <YAxis
              type="category"
              dataKey="name"
              width={NAME_PX}
              axisLine={false}
              tickLine={false}
              tick={{ fill: "var(--ink)" }}
            />
            <Bar dataKey="reached" fill="var(--accent)" radius={4} isAnimationActive={false}>
              <LabelList dataKey="reached" position="right" fill="var(--ink)" />
            </Bar>
          </BarChart>
        </ResponsiveContainer>
      </div>
      <ul className="lines">
        {bars.map((bar) => (
          <li key={bar.stage}>
            {t("funnel.reached", { stage: bar.name, count: bar.reached })}
            {bar.of_previous !== null && (
              <span className="quiet">
                {" · "}
                {t("funnel.share", { percent: Math.round(bar.of_previous * 100) })}
              </span>
            )}
            {bar.median_days !== null && (
              <span className="quiet">
                {" · "}
                {t("funnel.days", { count: bar.median_days })}
              </span>
            )}
          </li>
        ))}
        {ends.map(([end, count]) => (
          <li key={end} className="quiet">
            {t("funnel.ended", { status: words.value("status", end), count })}
          </li>
        ))}
      </ul>
    </div>
  );
}
