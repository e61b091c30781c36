import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { Navigate, Route, Routes, useLocation } from "react-router";
import { meQuery } from "./api/queries.ts";
import { installed } from "./domains/registry.ts";
import { hasChosenLanguage, setLanguage } from "./i18n/index.ts";
import { Answer } from "./layout/Answer.tsx";
import { NotFound } from "./pages/NotFound.tsx";
import { Shell } from "./layout/Shell.tsx";
import { Conversation } from "./pages/Conversation.tsx";
import { Inbox } from "./pages/Inbox.tsx";
import { Review } from "./pages/Review.tsx";
import { Settings } from "./pages/Settings.tsx";
import { SignIn } from "./pages/SignIn.tsx";

/** Every page by its address; without a session there is only the way in. */
export function App() {
  return (
    <Routes>
      <Route path="/sign-in" element={<SignIn />} />
      <Route path="/*" element={<SignedIn />} />
    </Routes>
  );
}

function SignedIn() {
  const me = useQuery(meQuery);
  const from = useLocation();
  const language = me.data?.language;
  useEffect(() => {
    if (language && !hasChosenLanguage()) setLanguage(language, false);
  }, [language]);
  const user = me.data;
  if (user === undefined)
    return (
      <main>
        <Answer of={me}>{() => null}</Answer>
      </main>
    );
  if (user === null) return <Navigate to="/sign-in" replace state={{ from }} />;
  return (
    <Routes>
      <Route element={<Shell me={user} />}>
        <Route index element={<Inbox />} />
        <Route path="review/:id" element={<Review />} />
        <Route path="conversation" element={<Conversation me={user} />} />
        <Route path="settings" element={<Settings me={user} />} />
        {installed(user.domains).flatMap((domain) =>
          domain.routes.map(({ path, page: Page }) => (
            <Route key={path} path={`${domain.name}/${path}`} element={<Page />} />
          )),
        )}
        <Route path="*" element={<NotFound />} />
      </Route>
    </Routes>
  );
}
